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


def listed(mark: str) -> list[str]:
    """The words on the left of a table in docs/words.md."""
    text = (TOP / "docs" / "words.md").read_text(encoding="utf-8").partition(f"<!-- {mark} -->")[2]
    return [line.split("|")[1].strip() for line in text.partition("<!-- end")[0].strip().splitlines()[2:]]


def found(text: str, mark: str = "words") -> list[str]:
    """Those of them that a text says."""
    return [word for word in listed(mark) if re.search(rf"(?<!\w){re.escape(word)}", text, re.IGNORECASE)]


def read(app: Any, helps: bool = True) -> str:
    """All that a page says, labels, charts and, where asked for, what stands behind a "?" included."""
    texts = [str(part.value) for kind in PARTS for part in app.get(kind)]
    names = ("label", "options", *(["help"] if helps else []))
    for kind in (*CONTROLS, "expander"):
        texts += [" ".join(str(getattr(part, name, "")) for name in names) for part in app.get(kind)]
    texts += [
        " ".join(map(str, part.value.columns)) for kind in ("table", "arrow_data_frame") for part in app.get(kind)
    ]
    texts += [part.proto.spec for part in app.get("plotly_chart")]
    return "\n".join(texts)


def unsaid(app: Any) -> list[str]:
    """Words that this page says and should not."""
    return found(read(app)) + found(read(app, helps=False), "behind a ?")


@pytest.mark.parametrize("file", [entry.file for entry in MENU])
def test_page_says_nothing_that_was_replaced(open_page: OpenPage, file: str) -> None:
    for study in ("planted", "mitigated"):
        app = open_page(file, study)
        assert len(read(app)) > 100 and unsaid(app) == []


SHIPPED = ("causes", "mitigation", "distortion", "regression", "subgroups", "harmed", "frontier", "class_curves")


@pytest.mark.parametrize("page", SHIPPED)
def test_page_of_the_shipped_study_says_nothing_that_was_replaced(
    open_page: OpenPage, demo_root: Path, page: str
) -> None:
    assert unsaid(open_page(f"pages/{page}.py", "demo", demo_root)) == []


def test_a_replaced_word_is_seen() -> None:
    assert len(listed("words")) > 10 and len(listed("behind a ?")) > 3
    assert found("Upload the sidecar") == ["Sidecar"] and found("a motorcycle") == []


def test_a_replaced_name_in_a_table_reaches_pages_and_is_found(
    open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(UNFAIRNESS, "max_min", replace(UNFAIRNESS["max_min"], label="Max - min"))
    monkeypatch.setitem(TREATMENTS, "rewind", replace(TREATMENTS["rewind"], phrase="with rewind"))
    assert set(found(read(open_page("pages/class_curves.py", "planted")))) == {"Max - min", "with rewind"}
