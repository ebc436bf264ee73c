"""The wheel holds all that it needs and nothing else, and what is installed from it works from any folder."""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_string
from pathlib import Path

import pytest

import engine
from pages.shared.menu import MENU
from tests.support.server import free_port, wait_until_well
from tests.support.visitor import Visitor

TOP = Path(__file__).resolve().parents[1]
FILES = (
    *("pyproject.toml", "setup.py", "requirements.txt", "README.md", ".streamlit/config.toml"),
    *("app.py", "serve.py"),
)
FOLDERS = ("engine", "pages", "prunescope", "data/demo")
OTHERS = (
    *(".streamlit/secrets.toml", "data/demo/work/abc/level", "data/mine/runs/abc/spec.json", "tests/__init__.py"),
    "build/lib/engine/moved_since.py",
)
LAID_WITHIN = {".streamlit/config.toml": "pages/settings/config.toml", "data/demo": "pages/studies/demo"}
"""Where what lies elsewhere in the repository is in the wheel."""
TOP_LEVEL = {"app.py", "serve.py", "prunescope", "engine", "pages", f"prunescope-{engine.__version__}.dist-info"}
RUN = "run --dataset digits --network lenet --technique l1_structured --treatment rewind --levels 2 --epochs 1 --seed 0"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that a build takes, with others beside them that it must leave."""
    top = tmp_path_factory.mktemp("source")
    for name in FILES:
        (top / name).parent.mkdir(exist_ok=True)
        shutil.copy(TOP / name, top / name)
    for name in FOLDERS:
        shutil.copytree(TOP / name, top / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in OTHERS:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text("not for others", encoding="utf-8")
    return top


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", str(source), "--no-build-isolation", "--wheel-dir", str(folder))
    (path,) = folder.iterdir()
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages with the wheel in it and no other; `PYTHONPATH` leads there."""
    folder = tmp_path_factory.mktemp("site")
    pip("install", "--target", str(folder), str(wheel))
    return folder


def pip(*arguments: str) -> None:
    """Run pip without a network."""
    command = [sys.executable, "-m", "pip", *arguments, "--quiet", "--no-deps", "--no-index", "--no-input"]
    done = subprocess.run([*command, "--disable-pip-version-check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def in_wheel(path: str) -> str:
    """The name that a file of the repository has in the wheel."""
    for beginning, within in LAID_WITHIN.items():
        if path.startswith(beginning):
            return within + path.removeprefix(beginning)
    return path


def test_wheel_holds_all_that_it_needs_and_nothing_else(source: Path, wheel: Path) -> None:
    needed = {name for name in FILES if name.endswith(".py") and name != "setup.py"} | {".streamlit/config.toml"}
    for name in FOLDERS:
        paths = (path.relative_to(source).as_posix() for path in (source / name).rglob("*") if path.is_file())
        needed |= {path for path in paths if not path.startswith("data/demo/work/")}
    with zipfile.ZipFile(wheel) as content:
        names = {name for name in content.namelist() if ".dist-info/" not in name}
        top_level = {name.split("/")[0] for name in content.namelist()}
    assert names == {in_wheel(path) for path in needed}
    assert top_level == TOP_LEVEL
    assert {"engine/py.typed", "engine/specs/presets/demo.toml", "pages/shared/icon.png"} <= names


def test_metadata_name_the_version_the_pinned_packages_and_the_extras(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as content:
        (name,) = (name for name in content.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = message_from_string(content.read(name).decode())
    assert metadata["Version"] == engine.__version__ and metadata["Requires-Python"] == ">=3.11"
    required = metadata.get_all("Requires-Dist", [])
    pinned = (TOP / "requirements.txt").read_text(encoding="utf-8").split()
    assert [name for name in required if ";" not in name] == pinned
    assert metadata.get_all("Provides-Extra") == ["ray", "ship", "auth"]
    assert all(re.fullmatch(r'[\w\[\]-]+==[\d.]+; extra == "(ray|ship|auth)"', one) for one in required if ";" in one)


def test_ray_is_the_one_that_is_tested() -> None:
    extras = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    tested = (TOP / "tests" / "requirements.txt").read_text(encoding="utf-8").split()
    assert {name for name in tested if name.startswith("ray")} == set(extras["ray"])
    pinned = (TOP / "requirements.txt").read_text(encoding="utf-8").split()
    assert [name.replace("[auth]", "") for name in extras["auth"]] == [n for n in pinned if n.startswith("streamlit=")]


# -- what is installed -------------------------------------------------------------------------------------------------


def environment(installed: Path, home: Path) -> dict[str, str]:
    """Variables for a process that knows the installed packages alone."""
    others = {name: value for name, value in os.environ.items() if not name.startswith(("PRUNESCOPE_", "STREAMLIT_"))}
    return {**others, "PYTHONPATH": str(installed), "XDG_DATA_HOME": str(home), "PYTHONUNBUFFERED": "1"}


def prunescope(installed: Path, folder: Path, *arguments: str) -> str:
    """What the installed command prints in a folder."""
    command = [str(installed / "bin" / "prunescope"), *arguments]
    options = {"cwd": folder, "env": environment(installed, folder / "home"), "capture_output": True, "text": True}
    done = subprocess.run(command, check=False, **options)
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


@contextmanager
def served(installed: Path, folder: Path, *arguments: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """The address and the process of `prunescope serve` in a folder."""
    port = free_port()
    command = [str(installed / "bin" / "prunescope"), "serve", *arguments, "--port", str(port), "--no-browser"]
    output = subprocess.PIPE
    variables = environment(installed, folder / "home")

    def said() -> str:
        process.kill()
        return str(process.communicate())

    with subprocess.Popen(command, cwd=folder, env=variables, stdout=output, stderr=output, text=True) as process:
        try:
            wait_until_well(port, process, said)
            yield f"http://localhost:{port}", process
        finally:
            process.kill()


def visit(address: str, page: str) -> list[str]:
    """The texts that a page shows; it must show no error."""

    async def open_page() -> list[str]:
        async with Visitor(address, page) as visitor:
            rerun = await visitor.open()
            assert not rerun.errors, f"{page or 'app'}: {rerun.errors}"
            return list(visitor.markdown)

    return asyncio.run(open_page())


def test_a_study_made_by_the_installed_command_opens_on_every_page(installed: Path, tmp_path: Path) -> None:
    assert prunescope(installed, tmp_path, "--version") == f"PruneScope {engine.__version__}\n"
    assert "finished in" in prunescope(installed, tmp_path, *RUN.split(), "--study", "studies/mine")
    assert "all whole" in prunescope(installed, tmp_path, "verify", "--study", "studies/mine")
    with served(installed, tmp_path, "studies/mine") as (address, process):
        texts = {entry.file: visit(address, Path(entry.file).stem.replace("app", "")) for entry in MENU}
        assert all(texts.values())
        assert "LeNet on Digits" in " ".join(texts["app.py"]), "this study, not the one that ships"
        process.send_signal(signal.SIGINT)
        printed, complaints = process.communicate(timeout=30)
    assert process.returncode == 0 and not complaints.strip(), "Ctrl-C ends it in peace"
    assert printed.startswith(f"Studies in {tmp_path / 'studies'}\n")


def test_in_an_empty_folder_the_study_that_ships_is_shown(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("raise SystemExit('not this one')", encoding="utf-8")
    with served(installed, tmp_path) as (address, process):
        assert "LeNet on QMNIST" in " ".join(visit(address, ""))
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=30)
    own = tmp_path / "home" / "prunescope" / "studies"
    assert printed.startswith(f"Studies in {own}\n") and (own / "demo").resolve() == installed / "pages/studies/demo"
