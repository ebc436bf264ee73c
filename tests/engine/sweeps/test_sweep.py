"""Many runs: what is planned adds up, what is missing is done, what fails is kept and does not stop the others."""

import json
import signal
import subprocess
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from engine.commands import main
from engine.commands.progress import sweep_display
from engine.errors import PruneScopeError
from engine.pruning.schedules import planned_levels
from engine.run_spec import Progress, RunSpec
from engine.specs.checks import validate_spec
from engine.specs.dense_key import dense_key
from engine.specs.experiment_names import experiment_of, names_in_study
from engine.specs.preset import Preset
from engine.store import claims
from engine.store.claims import claim
from engine.store.files import write_file
from engine.store.study import Study
from engine.sweeps import pool
from engine.sweeps.pool import Event, Lost, device_of
from engine.sweeps.sweep import MOST_LOSSES, prepare_study, run_sweep, sweep_status, work_through
from engine.sweeps.worker import Result, RunContext, execute_run, failure_file, note_failure
from tests.engine.store.test_files import dead_owner_name
from tests.support.run_folders import SPEC, made_study, write_made_run

SPECS = tuple(replace(SPEC, seed=seed) for seed in range(4))
TINY = validate_spec(RunSpec("digits", "lenet", "global_unstructured", levels=1, epochs=1, batch_size=128))


class Scripted:
    """Workers that do one thing to each run that they are given: write it, or say what the script says."""

    def __init__(self, study: Study, script: dict[str, list[str]] | None = None, size: int = 1) -> None:
        self.study, self.script, self.size = study, script or {}, size
        self.given: deque[RunSpec] = deque()
        self.order: list[RunSpec] = []
        self.closed = False

    def idle(self) -> int:
        return self.size - len(self.given)

    def hand_out(self, spec: RunSpec) -> None:
        self.given.append(spec)
        self.order.append(spec)

    def events(self, seconds: float) -> Iterator[Event]:
        if not self.given:
            return
        spec = self.given.popleft()
        said = self.script[spec.key].pop(0) if self.script.get(spec.key) else "done"
        yield Progress(spec.key, 0, len(planned_levels(spec)), 1, 1)
        if said == "lost":
            yield Lost(spec.key)
            return
        if said == "done":
            write_file(self.study.dense_file(dense_key(spec)).with_suffix(".outcome"), b"")
            write_made_run(self.study, spec)
        yield Result(spec.key, said, "why" if said == "failed" else "")

    def close(self) -> None:
        self.closed = True


def worked_through(study: Study, workers: Scripted, specs: tuple[RunSpec, ...] = SPECS) -> dict[str, str]:
    results = work_through(specs, study, workers, lambda event: None)
    assert workers.closed
    return {result.key: result.state for result in results}


def test_planned_is_done_failed_running_and_pending(tmp_path: Path) -> None:
    done, failed, running, pending = SPECS
    study = Study(tmp_path)
    assert sweep_status([*SPECS, *SPECS], study).pending == tuple(spec.key for spec in SPECS)
    write_made_run(study, done)
    for spec in (done, failed, running):
        note_failure(study, spec.key, "earlier")
    with claim(tmp_path / "claims", running.key), claim(tmp_path / "claims", f"dense-{dense_key(pending)}"):
        status = sweep_status([*SPECS, *SPECS], study)
    assert (status.done, status.failed) == ((done.key,), (failed.key,))
    assert (status.running, status.pending) == ((running.key,), (pending.key,))
    assert status.planned == 4
    assert sweep_status(SPECS, study).failed == (failed.key, running.key)


def test_only_what_is_missing_is_handed_out(tmp_path: Path) -> None:
    study = made_study(tmp_path, 2)
    assert worked_through(study, Scripted(study)) == dict.fromkeys((SPECS[2].key, SPECS[3].key), "done")
    assert worked_through(study, Scripted(study)) == {}
    assert study.levels()["run"].nunique() == 4


def test_runs_that_wait_for_a_dense_network_let_others_go_first(tmp_path: Path) -> None:
    first, second = (replace(SPEC, seed=seed) for seed in (0, 1))
    alike = tuple(replace(first, technique=name) for name in ("l1_structured", "l2_structured"))
    workers = Scripted(Study(tmp_path), size=2)
    worked_through(workers.study, workers, (first, *alike, second))
    assert workers.order == [first, second, *alike]


def test_a_run_that_somebody_else_claims_is_left_to_them(tmp_path: Path) -> None:
    study = Study(tmp_path)
    workers = Scripted(study, {SPECS[1].key: ["busy"]})
    with claim(tmp_path / "claims", SPECS[0].key):
        workers.events = lambda seconds: (_ for _ in ()) if workers.given else iter([stop()])  # type: ignore[method-assign]

        def stop() -> Event:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            work_through(SPECS[:1], study, workers, lambda event: None)
    assert workers.order == [] and workers.closed
    assert set(worked_through(study, Scripted(study, {SPECS[1].key: ["busy"]})).values()) == {"done"}


def test_a_run_whose_process_dies_is_tried_again_and_given_up_after_a_few_times(tmp_path: Path) -> None:
    study = Study(tmp_path)
    script = {SPECS[0].key: ["lost"] * (MOST_LOSSES - 1), SPECS[1].key: ["lost"] * MOST_LOSSES}
    states = worked_through(study, Scripted(study, script))
    assert [states[spec.key] for spec in SPECS] == ["done", "failed", "done", "done"]
    reason = json.loads(failure_file(study, SPECS[1].key).read_text())["reason"]
    assert "died 3 times" in reason
    assert sweep_status(SPECS, study).failed == (SPECS[1].key,)


def test_a_failed_run_does_not_stop_the_others(tmp_path: Path) -> None:
    study = Study(tmp_path)
    states = worked_through(study, Scripted(study, {SPECS[0].key: ["failed"]}))
    assert [states[spec.key] for spec in SPECS] == ["failed", "done", "done", "done"]


@pytest.mark.parametrize("lost", ["digits-official*", "digits-official-train.parquet"])
def test_a_lost_example_table_is_brought_back_by_one_run(tmp_path: Path, lost: str) -> None:
    place = RunContext(tmp_path, Path("unused"), "cpu")
    assert execute_run(TINY, place).state == "done"
    study, before = Study(tmp_path), Study(tmp_path).examples("digits-official")
    training = study.training_examples("digits-official")
    for path in (tmp_path / "examples").glob(lost):
        path.unlink()
    workers = Scripted(study, {TINY.key: ["found"]})
    worked_through(study, workers, (TINY,))
    assert workers.order == [TINY]
    assert execute_run(TINY, place).state == "found"
    assert study.examples("digits-official").equals(before)
    assert study.training_examples("digits-official").equals(training)
    assert execute_run(TINY, replace(place, root=Path("elsewhere"))).state == "found"


def test_a_run_that_cannot_even_be_claimed_fails_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object, **named: object) -> str:
        raise PruneScopeError("Cannot write: the disk is full.")

    monkeypatch.setattr(claims, "write_file", refuse)
    result = execute_run(TINY, RunContext(tmp_path, Path("unused"), "cpu"))
    assert (result.state, result.reason) == ("failed", "Cannot write: the disk is full.")


def test_preparing_a_study_titles_it_and_sweeps_out_what_is_left_over(tmp_path: Path) -> None:
    study = made_study(tmp_path, 1)
    dead = dead_owner_name(tmp_path / "work" / "x")
    for name in (f"work/{SPEC.key}/level-001.outcome", f"work/{SPECS[1].key}/level-001.outcome", f"work/{dead.name}/a"):
        write_file(tmp_path / name, b"")
    title = 'A "title" with \\ and\nlines'
    for _ in range(2):
        prepare_study(study, Preset("mine", title, "", SPECS))
    assert Study(tmp_path).info == {"title": title.replace("\n", " "), "description": "", "preset": "mine"}
    assert [path.name for path in (tmp_path / "work").iterdir()] == [SPECS[1].key]


def test_a_study_keeps_the_names_of_experiments_and_takes_new_ones(tmp_path: Path) -> None:
    first, second = (replace(experiment_of(replace(SPEC, epochs=n)), name=f'No. "{n}"') for n in (8, 9))
    prepare_study(Study(tmp_path), Preset("mine", "Mine", "", SPECS, (first,)))
    for _ in range(2):
        prepare_study(Study(tmp_path), Preset("other", "Other", "", SPECS, (replace(first, name="again"), second)))
    info = Study(tmp_path).info
    assert info["title"] == "Mine" and len(info["experiment"]) == 2
    assert names_in_study(info) == {tuple(asdict(name).values())[:-1]: name.name for name in (first, second)}


def test_malformed_names_of_experiments_are_left_aside() -> None:
    assert names_in_study({"experiment": [3, {"name": "a"}, {"dataset": 3}]}) == names_in_study({"experiment": 3}) == {}


@pytest.mark.parametrize("workers", [0, -1])
def test_no_workers_are_refused(tmp_path: Path, workers: int) -> None:
    with pytest.raises(PruneScopeError, match="allowed is 1 or more"):
        run_sweep(Preset("mine", "", "", SPECS), RunContext(tmp_path, tmp_path, "cpu"), workers, lambda event: None)


def test_members_of_a_pool_take_turns_on_several_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert [device_of("auto", number) for number in range(3)] == ["cuda:0", "cuda:1", "cuda:0"]
    assert device_of("cuda:1", 0) == "cuda:1" and device_of("cpu", 1) == "cpu"
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert device_of("cuda", 1) == "cuda"


def test_what_starts_while_interrupts_are_held_never_sees_one() -> None:
    with pool._interrupts_held():
        held = subprocess.run(
            ["grep", "SigBlk", "/proc/self/status"], capture_output=True, text=True, check=True
        ).stdout
    free = subprocess.run(["grep", "SigBlk", "/proc/self/status"], capture_output=True, text=True, check=True).stdout
    interrupt = 1 << (signal.SIGINT - 1)
    assert int(held.split()[1], 16) & interrupt and not int(free.split()[1], 16) & interrupt


def test_the_display_says_each_run_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = made_study(tmp_path, 1)
    with sweep_display(Preset("mine", "Mine", "", SPECS[:3]), study) as listen:
        for spec in SPECS[1:3]:
            listen(Progress(spec.key, 1, 2, 1, 1))
            listen(Result(spec.key, "done", "", 2.0))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in lines] == [["2/3", SPECS[1].key, "done"], ["3/3", SPECS[2].key, "done"]]


def test_the_command_line_plans_runs_and_says_how_it_went(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    preset, study = tmp_path / "mine.toml", tmp_path / "study"
    grid = '[[grid]]\ndatasets = ["digits"]\nnetworks = ["lenet"]\ntechniques = ["l1_structured"]\nseeds = [0]\n'
    protocol = "[grid.protocol]\nlevels = 1\nepochs = 1\nlearning_rate = {}\n"
    preset.write_text('title = "Mine"\n' + "".join(grid + protocol.format(rate) for rate in ("0.1", "1e20")))
    words = [str(preset), "--study", str(study), "--device", "cpu"]
    assert main(["sweep", "plan", *words]) == 0
    said = capfd.readouterr().out
    assert "Mine: 2 runs, 4 models." in said and "2 are missing" in said and "images a second in training" in said
    assert main(["sweep", "run", *words, "--workers", "2"]) == 1
    said = capfd.readouterr()
    assert "1 run computed, 1 failed" in said.out
    assert "Training diverged" in said.err and "Traceback" not in said.err
    assert main(["sweep", "status", *words]) == 0
    assert "2 planned = 1 done + 1 failed + 0 running + 0 pending" in capfd.readouterr().out
    assert "diverged" in json.loads(next((study / "failures").iterdir()).read_text())["reason"]
    assert main(["verify", "--study", str(study)]) == 0
