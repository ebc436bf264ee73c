"""The house has rooms: a folder is a noun with few files, and imports go down only, between rooms and within them.

`LAYERS` holds the order of the engine's rooms. Type-only imports count as others do. Pages never load torch, the engine
never draws, what one page uses no other page imports.
"""

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[1]
MOST_FILES = 15
"""Modules in a folder, its `__init__.py` aside."""
MOST_LINES = 300
LAYERS = (
    {"__main__"},
    {"commands"},
    {"api"},
    {"jobs"},
    {"sweeps", "exchange", "shipping"},
    {"runs"},
    {"fairness"},
    {"training"},
    {"store"},
    {"specs"},
    {"datasets", "networks", "pruning"},
    {"analysis"},
    {"run_spec", "study_folders", "table"},
    {"setting", "import_path", "plain_names", "access"},
    {"errors"},
)
"""The engine's rooms from the command line down; a room imports those below it, and no neighbour of its own layer."""
OVERVIEW = "overview"
"""The view of app.py; serve.py fills its caches before anybody asks."""
NOTEBOOK = "prunescope.plots"
"""Gives the pages' charts to Python, and so may look into every view."""


# -- what imports what ------------------------------------------------------------------------------------------------


def module_name(path: Path, top: Path) -> str:
    """Dotted name of the module in a file; a package is called by its folder."""
    parts = path.relative_to(top).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def python_files(top: Path, *folders: str) -> list[Path]:
    """All modules in these folders, in order."""
    return sorted(path for folder in folders for path in (top / folder).rglob("*.py"))


def imports_of(path: Path, with_types: bool = True) -> set[str]:
    """Full names of all that a file imports, inside functions too; under TYPE_CHECKING only where asked for."""
    names: set[str] = set()

    class Visitor(ast.NodeVisitor):
        def visit_If(self, node: ast.If) -> None:
            if with_types or "TYPE_CHECKING" not in ast.dump(node.test):
                self.generic_visit(node)
            for child in node.orelse:
                self.visit(child)

        def visit_Import(self, node: ast.Import) -> None:
            names.update(alias.name for alias in node.names)

        def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
            assert node.level == 0, f"{path} imports by a relative name"
            names.update([node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)])

    Visitor().visit(ast.parse(path.read_text(encoding="utf-8")))
    return names


def graph(top: Path, *folders: str) -> dict[str, set[str]]:
    """Of every module in these folders, the other ones that it imports by their own names."""
    modules = {module_name(path, top): path for path in python_files(top, *folders)}
    return {
        name: {found for found in imports_of(path) if found in modules and found != name}
        for name, path in modules.items()
    }


def cycle(edges: Mapping[str, set[str]]) -> list[str]:
    """Modules that import each other in a circle, the first one again at the end; empty where there is none.

    A package's face does not count as an importer of what lies within the package: Python loads it first, whatever.
    """
    done: set[str] = set()

    def search(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        for other in sorted(edges.get(name, ())):
            if found := search(other, [*path, name]):
                return found
        done.add(name)
        return []

    return next((found for name in sorted(edges) if (found := search(name, []))), [])


def is_face(module: str, top: Path) -> bool:
    """Whether the module is a package."""
    return (top / module.replace(".", "/") / "__init__.py").exists()


# -- the rules, each a function from a tree of files to what breaks it ------------------------------------------------


def crowded(top: Path) -> Iterator[str]:
    """Folders with too many modules."""
    for folder in (path for root in ("engine", "pages", "tests") for path in (top / root, *(top / root).rglob("*"))):
        if folder.is_dir() and folder.name != "__pycache__":
            n = sum(path.name != "__init__.py" for path in folder.glob("*.py"))
            if n > MOST_FILES:
                yield f"{folder.relative_to(top)} holds {n} modules; a room has at most {MOST_FILES}"


def long_files(top: Path) -> Iterator[str]:
    """Modules with too many lines."""
    for path in (*python_files(top, "engine", "pages"), *top.glob("*.py")):
        n = len(path.read_text(encoding="utf-8").splitlines())
        if n > MOST_LINES:
            yield f"{path.relative_to(top)} has {n} lines; at most {MOST_LINES} are one noun"


def layer_of(module: str) -> int:
    """Number of the layer in which a module of the engine stands; the engine's own face stands above all."""
    room = module.split(".")[1] if "." in module else "__main__"
    layers = [number for number, layer in enumerate(LAYERS) if room in layer]
    assert layers, f"engine/{room} stands in no layer: add it to LAYERS"
    return layers[0]


def upward(top: Path) -> Iterator[str]:
    """Imports of the engine that go up, or sideways between rooms of one layer."""
    for name, others in graph(top, "engine").items():
        for other in others - {"engine"}:
            same_room = name.split(".")[1:2] == other.split(".")[1:2]
            if not same_room and layer_of(other) <= layer_of(name):
                yield f"{name} imports {other}, which stands above or beside it"


def circular(top: Path) -> Iterator[str]:
    """Modules that import each other, in any number of steps, type-only imports included."""
    edges = graph(top, "engine", "pages")
    inner = {name: {other for other in others if not is_face(other, top)} for name, others in edges.items()}
    if found := cycle(inner):
        yield " -> ".join(found)


def same_names(top: Path) -> Iterator[str]:
    """Names that two modules of the engine bear."""
    seen: dict[str, str] = {}
    for name in sorted(graph(top, "engine")):
        last = name.rpartition(".")[2]
        if last in seen and not is_face(name, top):
            yield f"{name} is called as {seen[last]}"
        seen[last] = name


def foreign_views(top: Path) -> Iterator[str]:
    """Imports of a page's view from outside of that page."""
    allowed = {OVERVIEW: {"app", "serve"}}
    edges = {name: others for name, others in everything(top).items() if name != NOTEBOOK}
    for name, others in edges.items():
        for view in {other.split(".")[2] for other in others if other.startswith("pages.views.")}:
            own = name.startswith(f"pages.views.{view}.") or name in {f"pages.{view}", *allowed.get(view, ())}
            if not own:
                yield f"{name} imports pages/views/{view}, which belongs to pages/{view}.py"


def lonely(top: Path) -> Iterator[str]:
    """Modules of pages/shared that serve one page only, its view included.

    Caches are exempt: `pages/shared/cache` is the only place that may cache, so what one page keeps stands there too.
    """
    edges = everything(top)
    shared = [name for name in edges if name.startswith("pages.shared.") and not is_face(name, top)]
    for name in (name for name in shared if not name.startswith("pages.shared.cache.")):
        pages = set(_pages_over(name, edges))
        if len(pages) < 2:
            yield f"{name} serves {', '.join(sorted(pages)) or 'no page'} alone: it belongs to its view"


def _pages_over(name: str, edges: Mapping[str, set[str]]) -> Iterable[str]:
    """Pages that import the module, by themselves or through others."""
    reached, todo = {name}, [name]
    while todo:
        here = todo.pop()
        above = {module for module, others in edges.items() if here in others} - reached
        reached |= above
        todo += above
    return (m for m in reached if m == "app" or (m.startswith("pages.") and m.count(".") == 1))


def everything(top: Path) -> dict[str, set[str]]:
    """What the pages, the first page, the server and the public face import of the pages."""
    edges = graph(top, "pages", "prunescope")
    for file in ("app.py", "serve.py"):
        if (top / file).exists():
            edges[file.removesuffix(".py")] = imports_of(top / file) & edges.keys()
    return edges


def caching_elsewhere(top: Path) -> Iterator[str]:
    """Files other than the caches that call `st.cache_data` or `st.cache_resource`."""
    caches = top / "pages" / "shared" / "cache"
    for path in (*python_files(top, "pages"), *top.glob("*.py")):
        if caches not in path.parents and "st.cache" in path.read_text(encoding="utf-8"):
            yield f"{path.relative_to(top)} caches; only pages/shared/cache may"


def drawing_caches(top: Path) -> Iterator[str]:
    """Caches that import charts."""
    for path in python_files(top, "pages/shared/cache"):
        for name in imports_of(path):
            if "charts" in name.split(".") or name.split(".")[0] == "plotly":
                yield f"{path.relative_to(top)} imports {name}"


def foreign_to_the_engine(top: Path) -> Iterator[str]:
    """Imports of the engine that draw."""
    for path in python_files(top, "engine"):
        for name in imports_of(path):
            if name.split(".")[0] in {"streamlit", "plotly", "pages", "tests", "benchmarks", "docs"}:
                yield f"{path.relative_to(top)} imports {name}"


def torch_on_pages(top: Path) -> Iterator[str]:
    """Pages that load torch, and charts that know of Streamlit."""
    for path in (*python_files(top, "pages"), top / "app.py", top / "serve.py"):
        roots = {name.split(".")[0] for name in imports_of(path, with_types=False)}
        if roots & {"torch", "torchvision", "safetensors"}:
            yield f"{path.relative_to(top)} loads torch"
        if "charts" in path.stem and "streamlit" in roots or (path.parent.name == "charts" and "streamlit" in roots):
            yield f"{path.relative_to(top)} knows of Streamlit; charts are pure"


def foreign_to_benchmarks(top: Path) -> Iterator[str]:
    """Imports of tests, from benchmarks and docs, that are no support."""
    for path in python_files(top, "benchmarks", "docs"):
        for name in imports_of(path):
            if name.split(".")[0] == "tests" and not name.startswith("tests.support"):
                yield f"{path.relative_to(top)} imports {name}"


RULES = (
    crowded,
    long_files,
    upward,
    circular,
    same_names,
    foreign_views,
    lonely,
    caching_elsewhere,
    drawing_caches,
    foreign_to_the_engine,
    torch_on_pages,
    foreign_to_benchmarks,
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule_holds(rule) -> None:
    assert not list(rule(TOP))


def test_what_pages_import_leaves_torch_alone() -> None:
    files = [TOP / "app.py", TOP / "serve.py", *python_files(TOP, "pages")]
    names = {name for path in files for name in imports_of(path, with_types=False) if name.startswith("engine.")}
    modules = sorted(name for name in names if (TOP / f"{name.replace('.', '/')}.py").exists())
    code = f"import sys, {', '.join(modules)}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=TOP, check=False).returncode == 0


BROKEN = {
    crowded: {f"engine/runs/part{number:02}.py": "" for number in range(16)},
    long_files: {"engine/runs/run.py": "x = 1\n" * 301},
    upward: {"engine/store/study.py": "from engine.runs.run import run_experiment\n"},
    circular: {
        "engine/store/catalog.py": "import typing\nif typing.TYPE_CHECKING:\n    import engine.store.study\n",
        "engine/store/study.py": "from engine.store import catalog\n",
    },
    same_names: {"engine/store/run.py": ""},
    foreign_views: {
        "pages/views/frontier/words.py": "",
        "pages/writers.py": "from pages.views.frontier import words\n",
    },
    lonely: {"pages/shared/names.py": "", "pages/writers.py": "from pages.shared import names\n"},
    caching_elsewhere: {"pages/writers.py": "import streamlit as st\n\n@st.cache_data\ndef rows(): ...\n"},
    drawing_caches: {"pages/shared/cache/points.py": "import plotly.graph_objects as go\n"},
    foreign_to_the_engine: {"engine/runs/run.py": "import streamlit as st\n"},
    torch_on_pages: {"pages/writers.py": "import torch\n"},
    foreign_to_benchmarks: {"benchmarks/start.py": "from tests.engine.runs.test_run import SPEC\n"},
}
"""For each rule, files that break it when they are added to a house in order."""
IN_ORDER = (
    "engine/runs/run.py",
    "engine/store/study.py",
    "pages/frontier.py",
    "pages/writers.py",
    "app.py",
    "serve.py",
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule_sees_what_breaks_it(rule, tmp_path: Path) -> None:
    def lay(files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            for folder in (path.parent, *path.parent.parents):
                if folder.is_relative_to(tmp_path / "engine") or folder.name in (
                    "views",
                    "shared",
                    "frontier",
                    "cache",
                ):
                    (folder / "__init__.py").touch()
            path.write_text(text)

    lay(dict.fromkeys(IN_ORDER, ""))
    assert not list(rule(tmp_path))
    lay(BROKEN[rule])
    assert list(rule(tmp_path))
