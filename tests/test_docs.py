"""What README and docs say: every number is made by a script and equals it; every file that they name exists."""

import importlib.util
import re
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def build():
    source = importlib.util.spec_from_file_location("docs_build", TOP / "docs" / "build.py")
    module = importlib.util.module_from_spec(source)
    source.loader.exec_module(module)
    return module


def test_numbers_are_those_of_the_study_that_ships(build) -> None:
    demo = build.open_demo()
    assert "README.md" in build.FILES
    for name in build.FILES:
        text = (TOP / name).read_text(encoding="utf-8")
        assert "<!-- made:" in text
        assert build.made(text, demo) == text, f"{name} is stale: run `make docs`"


def test_links_lead_somewhere() -> None:
    pages = [*TOP.glob("*.md"), *(TOP / "docs").rglob("*.md"), *(TOP / "data").glob("*.md")]
    targets = {
        (page, target)
        for page in pages
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
        if not target.startswith("http")
    }
    assert (TOP / "README.md", "data/README.md") in targets, "links are not found as they are written"
    assert [str(path) for path in targets if not (path[0].parent / path[1]).exists()] == []


def test_make_targets_that_readme_names_exist() -> None:
    named = set(re.findall(r"make (\w+)", (TOP / "README.md").read_text(encoding="utf-8"))) - {"networks"}
    assert {"run", "test"} <= named, named
    makefile = (TOP / "Makefile").read_text(encoding="utf-8")
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in named), named
