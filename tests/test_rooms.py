"""Imports go down only, pages never load torch, the engine never draws."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[1]
LAYERS = (
    {"commands", "__main__"},
    {"sweep", "cluster", "estimate", "pool"},
    {"worker", "preset", "verify", "rebuild", "ingest", "marks"},
    {"experiment"},
    {"dense"},
    {"lessons"},
    {"laboratory", "diagnostics", "quantization"},
    {"store", "specs", "training", "snapshots", "curvature", "dual"},
    {"catalog", "datasets", "claims"},
    {"networks", "modules", "masks", "schedules", "readers", "outcomes", "protocols", "tables", "files", "root"},
    {"grouping", "mitigation"},
    {"techniques", "unfairness", "attributes", "analysis", "randomness", "arithmetic"},
    {"images", "naming", "owners"},
    {"records"},
)
"""From the command line down; a module may import what stands in its own layer or below."""


def modules_imported(path: Path) -> set[str]:
    """Full names of what a file imports when it is loaded or run, type-checking imports aside."""
    names: set[str] = set()

    class Visitor(ast.NodeVisitor):
        def visit_If(self, node: ast.If) -> None:
            if "TYPE_CHECKING" not in ast.dump(node.test):
                self.generic_visit(node)

        def visit_Import(self, node: ast.Import) -> None:
            names.update(alias.name for alias in node.names)

        def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
            names.update([node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)])

    Visitor().visit(ast.parse(path.read_text(encoding="utf-8")))
    return names


def layer_of(module: str) -> int:
    found = [number for number, layer in enumerate(LAYERS) if module in layer]
    assert found, f"engine/{module} stands in no layer: add it to LAYERS"
    return found[0]


ENGINE = sorted(p for p in (TOP / "engine").rglob("*.py") if p != TOP / "engine" / "__init__.py")
PAGES = [TOP / "app.py", TOP / "serve.py", *sorted((TOP / "pages").rglob("*.py"))]


@pytest.mark.parametrize("path", ENGINE, ids=lambda path: str(path.relative_to(TOP)))
def test_engine_imports_go_down(path: Path) -> None:
    own = path.relative_to(TOP / "engine").parts[0].removesuffix(".py")
    for name in modules_imported(path):
        root, _, rest = name.partition(".")
        assert root not in {"streamlit", "plotly", "pages"}, f"{path.name} imports {name}"
        module = rest.split(".")[0]
        if (
            root == "engine"
            and module
            and (TOP / "engine" / module).exists() | (TOP / "engine" / f"{module}.py").exists()
        ):
            assert layer_of(module) >= layer_of(own), f"engine/{own} imports engine/{module}, which stands above it"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(TOP)))
def test_pages_never_load_torch(path: Path) -> None:
    assert not {name.split(".")[0] for name in modules_imported(path)} & {"torch", "torchvision", "safetensors"}
    if path.parent.name == "charts":
        assert not {name for name in modules_imported(path) if name.split(".")[0] == "streamlit"}, "charts are pure"


def test_what_pages_import_leaves_torch_alone() -> None:
    wanted = {name for path in PAGES for name in modules_imported(path) if name.startswith("engine.")}
    wanted |= {"engine.specs", "engine.store", "engine.unfairness"}
    modules = sorted(name for name in wanted if (TOP / f"{name.replace('.', '/')}.py").exists())
    code = f"import sys, {', '.join(modules)}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=TOP, check=False).returncode == 0
