"""What README and docs say: every number is made by a script and equals it; every file that they name exists."""

import importlib.util
import re
from pathlib import Path

import pytest

from engine.specs.preset import preset_names
from pages.shared.menu import MENU

TOP = Path(__file__).resolve().parents[1]
PAGES = [*TOP.glob("*.md"), *(TOP / "docs").rglob("*.md"), *(TOP / "data").glob("*.md")]
CAPTIONS = {
    "Paganini 2020": {"Figure": 15, "Table": 1},
    "Hooker 2020": {"Figure": 4, "Table": 5},
    "Tran 2022": {"Figure": 9, "Table": 2},
    "Good 2022": {"Figure": 13, "Table": 13},
}
"""How many figures and tables have a caption in each paper's text; they are numbered from 1."""
SHIPPED = {"yes", "other data", "preset", "in part", "no"}


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
    targets = {
        (page, target)
        for page in PAGES
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


def coverage_rows() -> dict[str, list[list[str]]]:
    """The rows of each paper's table in docs/coverage.md."""
    text = (TOP / "docs" / "coverage.md").read_text(encoding="utf-8")
    sections = {part.partition(",")[0]: part for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]}
    lines = {paper: re.findall(r"^\| ((?:Figure|Table) .*) \|$", sections[paper], re.MULTILINE) for paper in CAPTIONS}
    return {paper: [line.split(" | ") for line in rows] for paper, rows in lines.items()}


@pytest.mark.parametrize("paper", CAPTIONS)
def test_every_figure_and_table_of_the_papers_has_a_row(paper: str) -> None:
    rows = coverage_rows()[paper]
    captions = [f"{kind} {n}" for kind, most in CAPTIONS[paper].items() for n in range(1, most + 1)]
    assert [row[0] for row in rows] == captions
    for item, shows, where, shipped, differs in rows:
        assert shows and differs and shipped in SHIPPED, item
        assert (where == "—") == (shipped == "no"), item


def test_coverage_names_pages_and_presets_that_exist() -> None:
    text = (TOP / "docs" / "coverage.md").read_text(encoding="utf-8")
    places = {re.split(r"[,;]", row[2])[0].strip() for rows in coverage_rows().values() for row in rows}
    assert places - {"—", "comparison.md"} <= {entry.label for entry in MENU}
    named = set(re.findall(r"[Pp]resets? `([\w-]+)`", text)) | {"paper-qmnist", "paper-alexnet"}
    assert {"paper", "hooker", "tran", "recall-distortion"} <= named <= set(preset_names())


def test_coverage_quotes_headings_that_pages_have() -> None:
    pages = {entry.label: Path(entry.file) for entry in MENU}
    quoted = [
        (place.partition(",")[0].strip(), part.strip())
        for rows in coverage_rows().values()
        for row in rows
        for place in row[2].split(";")
        for heading in re.findall(r'"([^"]+)"', place)
        for part in heading.split("...")
        if part.strip()
    ]
    assert len(quoted) > 20
    for label, heading in quoted:
        files = [TOP / pages[label], *(TOP / "pages" / "views" / pages[label].stem).glob("*.py")]
        assert any(heading in file.read_text(encoding="utf-8") for file in files), f"{label}: {heading}"


def test_plus_minus_is_defined_once_where_it_is_used() -> None:
    using = [page for page in PAGES if page.name != "CHANGELOG.md" and "±" in page.read_text(encoding="utf-8")]
    assert TOP / "docs" / "comparison.md" in using
    assert [page.name for page in using if page.read_text(encoding="utf-8").count("± is ") != 1] == []


def test_commands_of_docs_are_those_that_installing_gives() -> None:
    assert [page.name for page in PAGES if "\npython -m engine" in page.read_text(encoding="utf-8")] == []


def made_block(name: str) -> str:
    """What is made of this name in docs/comparison.md."""
    text = (TOP / "docs" / "comparison.md").read_text(encoding="utf-8")
    block = re.search(rf"<!-- made:{name} -->(.*?)<!-- end -->", text, re.DOTALL)
    assert block is not None
    return block[1]


def test_numbers_stand_beside_those_of_the_same_quantity() -> None:
    rows = made_block("accuracy").splitlines()
    assert [row for row in rows if "PruneScope" in row and f"at {100 * (1 - 0.8**19):.2f} %" not in row] == []
    assert "max - min group accuracy" in made_block("mitigation") and "Tran 2022, UTKFace" in made_block("mitigation")
    assert "excessive losses" in made_block("violation") and "Tran 2022, UTKFace" not in made_block("violation")
    assert all("control, not pruned" in made_block(name) for name in ("mitigation", "violation"))
    assert all("seeds a cell (there 30)" in made_block(name) for name in ("distortion", "control"))
