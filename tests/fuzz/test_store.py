"""No order of writes, crashes, imports, marks, decisions and verifications loses, changes or invents anything."""

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from engine.access import Person, acting_as
from engine.store import catalog, files
from engine.store.annotations import MARKS, marks_by_person, write_mark
from engine.store.records.decisions import approve, propose, read_decisions, withdraw
from engine.store.study import Study
from engine.store.verification.verify import verify_study
from tests.support.harness.crashes import crash_at
from tests.support.harness.forks import exit_code, in_child
from tests.support.harness.turns import FULL
from tests.support.run_folders import SPEC, files_of, made_study, write_made_run
from tests.support.uploads import bring, long_table

N_SEEDS = 4
MOST_WRITES = 40
"""A crash comes at one of so many writes, syncs and renames, or not at all where there are fewer."""

EXAMPLES = "digits-official"
PEOPLE = ("Ada", "Grace", "Bob")
FILES = (("dense", "magnitude"), ("dense", "magnitude", "random"))
"""Techniques in each file that may be imported; the second is the first and more."""


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """Digests of every run that may come to be, each written or imported where nothing disturbed it."""
    folder = tmp_path_factory.mktemp("calm")
    calm = made_study(folder / "made", N_SEEDS)
    bring(table_file(folder, FILES[-1]), Study(folder / "imported"))
    return files_of(calm) | files_of(Study(folder / "imported"))


def table_file(folder: Path, techniques: tuple[str, ...]) -> Path:
    """A file of predictions of these techniques."""
    table, path = long_table(n=24), folder / f"{len(techniques)}.csv"
    table[table["technique"].isin(techniques)].to_csv(path, index=False)
    return path


class StoreMachine(RuleBasedStateMachine):
    """A study to which everything happens that can, beside plain tables of what should be in it."""

    expected: dict[str, dict[str, str]]

    @initialize()
    def begin(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="prunescope-store-"))
        self.study = Study(self.root / "study")
        self.study.path.mkdir()
        self.runs: set[str] = set()
        self.marks: dict[tuple[int, str], str] = {}
        self.decisions: dict[str, str] = {}

    def teardown(self) -> None:
        if hasattr(self, "root"):
            shutil.rmtree(self.root)

    @rule(seed=st.integers(0, N_SEEDS - 1))
    def write_a_run(self, seed: int) -> None:
        self.runs.add(write_made_run(self.study, replace(SPEC, seed=seed)))

    @rule(seed=st.integers(0, N_SEEDS - 1), n=st.integers(1, MOST_WRITES))
    def crash_while_a_run_is_written(self, seed: int, n: int) -> None:
        spec = replace(SPEC, seed=seed)

        def write() -> None:
            crash_at(n)
            write_made_run(self.study, spec)
            catalog.refresh(self.study)

        assert exit_code(in_child(write)) in (0, 77)
        self.runs |= set(self.study.runs()) & {spec.key}

    @rule(techniques=st.sampled_from(FILES))
    def import_a_file(self, techniques: tuple[str, ...]) -> None:
        bring(table_file(self.root, techniques), self.study)
        self.runs |= self._imported()

    @rule(techniques=st.sampled_from(FILES), n=st.integers(1, 3 * MOST_WRITES))
    def crash_while_a_file_is_imported(self, techniques: tuple[str, ...], n: int) -> None:
        path, before = table_file(self.root, techniques), self._imported()

        def act() -> None:
            crash_at(n)
            bring(path, self.study)

        ended = exit_code(in_child(act))
        catalog.refresh(self.study)
        after = self._imported()
        assert ended in (0, 77) and before <= after
        assert ended == 77 or self._has_all(techniques, after)
        assert after == before or self._has_all(techniques, after), "part of a file"
        self.runs |= after

    @rule(example=st.integers(0, 59), who=st.sampled_from(PEOPLE), mark=st.sampled_from((*MARKS, None)))
    def mark_an_example(self, example: int, who: str, mark: str | None) -> None:
        if EXAMPLES not in self.study.example_sets():
            return
        with acting_as(Person(who)):
            write_mark(self.study, EXAMPLES, example, mark)
        self.marks.pop((example, who), None)
        if mark is not None:
            self.marks[example, who] = mark

    @rule(who=st.sampled_from(PEOPLE))
    def propose_a_decision(self, who: str) -> None:
        self.decisions[propose(self.study, {"title": f"by {who}"}, who)] = "proposed"

    @precondition(lambda self: self.decisions)
    @rule(data=st.data(), approves=st.booleans(), n=st.integers(0, 12))
    def decide(self, data: st.DataObject, approves: bool, n: int) -> None:
        """Approve or withdraw one, in a process that may crash on the way."""
        key = data.draw(st.sampled_from(sorted(self.decisions)), "decision")
        before = self.decisions[key]
        if before == "withdrawn" or (approves and before == "approved"):
            return

        def act() -> None:
            if n:
                crash_at(n)
            _ = approve(self.study, key, "Zoe") if approves else withdraw(self.study, key, "Zoe", "no longer")

        ended, after = exit_code(in_child(act)), "approved" if approves else "withdrawn"
        found = {decision.id: decision.status for decision in read_decisions(self.study)}[key]
        assert ended in (0, 77) and found in (before, after) and (ended == 77 or found == after)
        self.decisions[key] = found

    @rule()
    def lose_the_catalog(self) -> None:
        shutil.rmtree(self.study.path / "catalog", ignore_errors=True)

    @rule()
    def start_again(self) -> None:
        files.remove_leftovers(self.study.path)
        files.remove_left_beside(self.root)
        self.study = Study(self.study.path)

    @invariant()
    def study_is_whole(self) -> None:
        if not hasattr(self, "study"):
            return
        assert verify_study(self.study) == []
        assert set(self.study.runs()) == self.runs
        found = files_of(self.study)
        assert found == {key: self.expected[key] for key in found}
        levels = catalog.refresh(self.study).levels
        assert set(levels["run"].astype(str)) == self.runs
        marks = marks_by_person(self.study, EXAMPLES) if EXAMPLES in self.study.example_sets() else None
        told = {} if marks is None else {(int(m.example), str(m.who)): str(m.mark) for m in marks.itertuples()}
        assert told == self.marks
        assert {one.id: one.status for one in read_decisions(self.study)} == self.decisions

    def _imported(self) -> set[str]:
        return set(self.study.runs()) - {replace(SPEC, seed=seed).key for seed in range(N_SEEDS)}

    def _has_all(self, techniques: tuple[str, ...], keys: set[str]) -> bool:
        there = {self.study.run_record(key).spec.technique for key in keys}
        return there >= set(techniques) - {"dense"}


@pytest.mark.timeout(3600 if FULL else 300)
def test_no_order_of_events_loses_or_changes_anything(expected: dict[str, dict[str, str]]) -> None:
    machine = type("Machine", (StoreMachine,), {"expected": expected})
    run_state_machine_as_test(
        machine, settings=settings(max_examples=200 if FULL else 4, stateful_step_count=15, deadline=None)
    )
