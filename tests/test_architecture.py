"""docs/architecture.md tells the truth: its tree lists the rooms that there are, its tasks lead to files that exist."""

import re
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
TEXT = (TOP / "docs" / "architecture.md").read_text(encoding="utf-8")


def part(name: str) -> str:
    """The part of the page between its marks."""
    return TEXT.split(f"<!-- {name} -->")[1].split("<!-- end -->")[0]


def listed() -> list[str]:
    """Paths in the tree, in its order."""
    paths: list[str] = []
    parents: list[str] = []
    for line in part("tree").strip().strip("`").strip("\n").splitlines():
        name = line.split()[0]
        depth = (len(line) - len(line.lstrip())) // 2
        parents[depth:] = [name]
        paths.append("".join(parents))
    return paths


def rooms() -> set[str]:
    """Folders of the engine and the pages with a module in them; a page's view and the readers count as one room."""
    folders = {path.parent for root in ("engine", "pages") for path in (TOP / root).rglob("*.py")}
    names = {f"{folder.relative_to(TOP).as_posix()}/" for folder in folders}
    return {name for name in names if not re.match(r"pages/views/.|engine/datasets/readers/", name)}


def test_the_tree_lists_every_room_and_nothing_else() -> None:
    paths = listed()
    assert [path for path in paths if not (TOP / path).exists()] == []
    folders = {path for path in paths if path.startswith(("engine/", "pages/"))}
    assert folders == rooms()


def test_every_task_leads_to_one_file_that_exists() -> None:
    rows = [line for line in part("tasks").splitlines() if line.startswith("| ")][2:]
    files = [re.findall(r"`([^`]+)`", row) for row in rows]
    assert len(rows) >= 12
    assert [names for names in files if len(names) != 1 or not (TOP / names[0]).is_file()] == []


def test_modules_that_the_walks_name_exist() -> None:
    walks = TEXT.split("## Three walks")[1].split("## Where")[0]
    names = re.findall(
        r"`((?:commands|specs|runs|pruning|training|store|shared|analysis|views|exchange)/[\w/]+)`", walks
    )
    assert len(names) > 12
    roots = [TOP / "engine", TOP / "pages"]
    assert [name for name in names if not any((root / f"{name}.py").is_file() for root in roots)] == []
