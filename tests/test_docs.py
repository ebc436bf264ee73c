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
    for name in build.FILES:
        text = (TOP / name).read_text(encoding="utf-8")
        assert "<!-- made:" in text
        assert build.made(text, demo) == text, f"{name} is stale: run `make docs`"


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "docs/comparison.md", "data/README.md"])
def test_links_lead_somewhere(name: str) -> None:
    path = TOP / name
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (path.parent / target).exists(), f"{name} links to {target}"


def test_make_targets_that_readme_names_exist() -> None:
    named = set(re.findall(r"make (\w+)", (TOP / "README.md").read_text(encoding="utf-8"))) - {"networks"}
    makefile = (TOP / "Makefile").read_text(encoding="utf-8")
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in named), named
