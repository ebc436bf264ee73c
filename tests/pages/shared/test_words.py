"""No page says what the word list in docs/words.md has replaced."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.analysis.unfairness import UNFAIRNESS
from engine.pruning.schedules import TREATMENTS
from pages.shared.menu import MENU
from tests.pages.conftest import TOP, OpenPage

FRONTIER = "pages/frontier.py"
PARTS = ("markdown", "caption", "info", "warning", "error", "title", "header", "subheader")
CONTROLS = (
    "selectbox",
    "multiselect",
    "button_group",
    "slider",
    "select_slider",
    "toggle",
    "text_input",
    "file_uploader",
)


def replaced() -> list[str]:
    """The words that pages no longer say."""
    listed = (
        (TOP / "docs" / "words.md").read_text(encoding="utf-8").partition("<!-- words -->")[2].partition("<!-- end")[0]
    )
    return [line.split("|")[1].strip() for line in listed.strip().splitlines()[2:]]


def found(text: str) -> list[str]:
    """Those of them that a text says."""
    return [word for word in replaced() if re.search(rf"(?<!\w){re.escape(word)}", text, re.IGNORECASE)]


def read(app: Any) -> str:
    """All that a page says, labels and helps included."""
    texts = [str(part.value) for kind in PARTS for part in app.get(kind)]
    for kind in (*CONTROLS, "expander"):
        names = ("label", "help", "options")
        texts += [" ".join(str(getattr(part, name, "")) for name in names) for part in app.get(kind)]
    texts += [
        " ".join(map(str, part.value.columns)) for kind in ("table", "arrow_data_frame") for part in app.get(kind)
    ]
    return "\n".join(texts)


@pytest.mark.parametrize("file", [entry.file for entry in MENU if entry.file != FRONTIER])
def test_page_says_nothing_that_was_replaced(open_page: OpenPage, file: str) -> None:
    for study in ("planted", "mitigated"):
        text = read(open_page(file, study))
        assert len(text) > 100 and found(text) == []


@pytest.mark.parametrize("page", ["causes", "mitigation", "distortion", "regression", "subgroups", "harmed"])
def test_page_of_the_shipped_study_says_nothing_that_was_replaced(
    open_page: OpenPage, demo_root: Path, page: str
) -> None:
    assert found(read(open_page(f"pages/{page}.py", "demo", demo_root))) == []


def test_a_replaced_word_is_seen() -> None:
    assert len(replaced()) > 10
    assert found("Upload the sidecar") == ["Sidecar"] and found("a motorcycle") == []


def test_a_replaced_name_in_a_table_reaches_pages_and_is_found(
    open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(UNFAIRNESS, "max_min", replace(UNFAIRNESS["max_min"], label="Max - min"))
    monkeypatch.setitem(TREATMENTS, "rewind", replace(TREATMENTS["rewind"], phrase="with rewind"))
    assert set(found(read(open_page("pages/class_curves.py", "planted")))) == {"Max - min", "with rewind"}
