"""Whatever happens to the files of a run that is not finished, it ends as an undisturbed one, or says why it cannot."""

import os
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from engine.run_spec import Progress, RunSpec
from engine.runs.run import RunOutcome, run_experiment
from engine.specs.checks import validate_spec
from engine.store.study import Study
from engine.store.verification.verify import set_aside, verify_study
from tests.support.harness.turns import cross_in_turn
from tests.support.run_folders import files_of

ROOT = Path("unused")
SPEC = validate_spec(
    RunSpec("digits", "lenet", "global_unstructured", levels=4, epochs=1, batch_size=256, keep_checkpoints=True, seed=3)
)
OTHER = replace(SPEC, seed=4)
REACHED = 3
"""Level at whose begin the run is stopped; two are kept."""


class Stop(Exception):
    """Ends a run in the middle."""


def stop(progress: Progress) -> None:
    if progress.level == REACHED:
        raise Stop


def resumed(study: Study, spec: RunSpec = SPEC) -> tuple[RunOutcome, list[int]]:
    """How the run ends, and the levels that are trained for that."""
    levels: list[int] = []
    outcome = run_experiment(spec, study, ROOT, "cpu", lambda progress: levels.append(progress.level))
    return outcome, sorted(set(levels))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Studies `calm`, where both runs are done, and `stopped`, where both have two of four levels."""
    path = tmp_path_factory.mktemp("work")
    for spec in (SPEC, OTHER):
        run_experiment(spec, Study(path / "calm"), ROOT, "cpu")
        with pytest.raises(Stop):
            run_experiment(spec, Study(path / "stopped"), ROOT, "cpu", stop)
    assert verify_study(Study(path / "stopped")) == []
    return path


@pytest.fixture
def stopped(made: Path, tmp_path: Path) -> Study:
    return Study(shutil.copytree(made / "stopped", tmp_path / "study"))


def expected(made: Path, spec: RunSpec = SPEC) -> dict[str, str]:
    return files_of(Study(made / "calm"))[spec.key]


def flip(path: Path, draw: random.Random) -> None:
    content = bytearray(path.read_bytes())
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    path.write_bytes(content)


def cut(path: Path, draw: random.Random) -> None:
    path.write_bytes(path.read_bytes()[: draw.randrange(path.stat().st_size)])


def swap(path: Path, draw: random.Random) -> None:
    """Another whole file of the same kind, of another run or level or network, takes its place."""
    there = [other for other in path.parents[2].rglob(f"*{path.suffix}") if other != path and "runs" not in other.parts]
    alike = [other for other in there if other.name.split("-")[0] == path.name.split("-")[0] or "dense" in path.parts]
    shutil.copy(draw.choice(alike or there), path)


def delete(path: Path, draw: random.Random) -> None:
    path.unlink()


KINDS = ("level-001.outcome", "level-002.outcome", "state-0", "state-1", "checkpoints/level-002", "dense")


def file_of(study: Study, kind: str) -> Path:
    folder = study.work_folder(SPEC.key)
    if kind == "dense":
        from engine.specs.dense_key import dense_key

        return study.dense_file(dense_key(SPEC))
    return next(folder.glob(f"{kind}*"))


@pytest.mark.parametrize(("kind", "damage"), cross_in_turn([*KINDS, "dense outcome"], [flip, cut, swap, delete], 2))
def test_no_damage_of_work_in_progress_changes_the_result(
    made: Path, stopped: Study, kind: str, damage: Callable[[Path, random.Random], None]
) -> None:
    """Half of kinds x damages each day; all with PRUNESCOPE_FULL."""
    path = file_of(stopped, kind.split()[0])
    path = path.with_suffix(".outcome") if kind == "dense outcome" else path
    damage(path, random.Random(f"{kind} {damage.__name__}"))
    name = path.relative_to(stopped.path).as_posix()
    if damage is not delete:
        assert name in [fault.name for fault in verify_study(stopped)]
    outcome, _ = resumed(stopped)
    assert outcome.computed and files_of(stopped)[SPEC.key] == expected(made)
    assert (path.name in outcome.mended) == (damage is not delete)
    assert not verify_study(stopped)
    assert resumed(stopped, OTHER)[0].computed and files_of(stopped)[OTHER.key] == expected(made, OTHER)


@pytest.mark.parametrize(
    ("kind", "trained"),
    [
        ("nothing", [3, 4]),
        ("level-002.outcome", [2, 3, 4]),
        ("state-0", [2, 3, 4]),
        ("checkpoints/level-002", [2, 3, 4]),
        ("state-1", [3, 4]),
        ("level-001.outcome", [1, 2, 3, 4]),
    ],
)
def test_a_damaged_newest_level_costs_one_level(stopped: Study, kind: str, trained: list[int]) -> None:
    if kind != "nothing":
        flip(file_of(stopped, kind), random.Random(kind))
    outcome, levels = resumed(stopped)
    assert levels == trained
    assert bool(outcome.mended) == (kind != "nothing")
    if trained == [2, 3, 4]:
        assert "the run goes on from level 1" in outcome.mended


def test_verify_removes_what_is_damaged_and_the_run_is_made(made: Path, stopped: Study) -> None:
    for kind in KINDS:
        flip(file_of(stopped, kind), random.Random(kind))
    faults = verify_study(stopped)
    assert len(faults) == len(KINDS)
    for fault in faults:
        assert "removed" in set_aside(stopped, fault)
    assert verify_study(stopped) == []
    outcome, _ = resumed(stopped)
    assert outcome.mended == "" and files_of(stopped)[SPEC.key] == expected(made)


@pytest.mark.skipif(not os.environ.get("PRUNESCOPE_FULL"), reason="100 resumed runs take minutes")
def test_a_hundred_random_damages_change_nothing(made: Path, tmp_path: Path) -> None:
    draw = random.Random(24)
    for number in range(100):
        study = Study(shutil.copytree(made / "stopped", tmp_path / f"{number}"))
        for kind in draw.sample(KINDS, draw.choice((1, 1, 2))):
            draw.choice((flip, cut, swap, delete))(file_of(study, kind), draw)
        resumed(study)
        assert files_of(study)[SPEC.key] == expected(made), number
