"""Every function that writes for people refuses who may not, called directly, and leaves nothing behind."""

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

import engine
from engine.access import AccessError, Person, acting_as
from engine.datasets.dataset_table import fetch_dataset
from engine.datasets.fetching import Fetching
from engine.exchange.mapping import ColumnMapping
from engine.exchange.sandbox import Source, import_file
from engine.jobs.import_process import ImportRequest
from engine.jobs.import_queue import ImportQueue
from engine.jobs.job import Job
from engine.jobs.start_job import go_on, start_job
from engine.jobs.stop_job import ask_to_stop
from engine.shipping.detached import Parcel, start
from engine.store.annotations import write_mark
from engine.store.records.decisions import approve, propose, withdraw
from engine.store.records.measures import write_measures
from engine.store.study import Study
from tests.support.jobs import small_request

NOBODY = [("demo", Person("Ada")), ("sign-in", None), ("sign-in", Person("Vic", "viewer"))]


def import_asked_for(folder: Path) -> ImportRequest:
    return ImportRequest(Source(folder / "own.csv", "own.csv"), folder / "study", ColumnMapping(), "", None)


WRITERS: dict[str, Callable[[Path], object]] = {
    "import_file": lambda at: import_file(Source(at / "own.csv", "own.csv"), Study(at / "study")),
    "add": lambda at: ImportQueue().add(import_asked_for(at), at, "somebody"),
    "write_mark": lambda at: write_mark(Study(at / "study"), "digits", 7, "hard"),
    "start_job": lambda at: start_job(at / "study", small_request(at)),
    "go_on": lambda at: go_on(Job(at / "study", "one")),
    "ask_to_stop": lambda at: ask_to_stop(Job(at / "study", "one"), "cancel"),
    "propose": lambda at: propose(Study(at / "study"), {}, "Ada"),
    "approve": lambda at: approve(Study(at / "study"), "one", "Ada"),
    "withdraw": lambda at: withdraw(Study(at / "study"), "one", "Ada", "why"),
    "__init__": lambda at: Fetching("mnist", at / "data"),
    "fetch_dataset": lambda at: fetch_dataset("mnist", at / "data"),
    "start": lambda at: start(Parcel(at / "study", "0123456789ab", 1)),
    "write_measures": lambda at: write_measures(Study(at / "study"), []),
}
"""A call of each, by the function's name; what it would need is not there, so that the refusal has to come first."""


@pytest.mark.parametrize(("mode", "person"), NOBODY)
@pytest.mark.parametrize("writer", WRITERS)
def test_who_may_not_write_is_refused_and_nothing_is_left(
    writer: str, mode: str, person: Person | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRUNESCOPE_ACCESS", mode)
    with acting_as(person), pytest.raises(AccessError):
        WRITERS[writer](tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_every_function_that_asks_is_tried_here() -> None:
    """A new one that asks who may write is missed by this, until it has its line above."""
    asking = {"check_may_write", "_signed_name"}
    found = set()
    for file in Path(engine.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                calls = (call.func for call in ast.walk(node) if isinstance(call, ast.Call))
                if asking & {name.id for name in calls if isinstance(name, ast.Name)}:
                    found.add(node.name)
    assert found - asking == set(WRITERS)
