"""The end of a process in the middle of its n-th write, sync or rename; needs no torch, so that forks are cheap.

`python -m tests.support.harness.crashes FOLDER EVERY` ends the store's at each n, or each `EVERY`th: the seed draws
the first.
"""

import builtins
import itertools
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from engine.store import catalog, claims, files
from engine.store.study import Study
from engine.store.verification.verify import verify_study
from tests.support.harness.forks import exit_code, in_child
from tests.support.harness.seed import HOW_TO_REPLAY, seeded
from tests.support.run_folders import files_of, made_study, write_made_run

CRASHED = 77


def crash_moments(name: str, every: int) -> Iterator[int]:
    """Each `every`th number without end, from one of the first that the seed draws."""
    return itertools.count(1 + seeded(name).randrange(every), every)


def crash_at(n: int) -> None:
    """From now on, end this process at its n-th write, sync or rename; a write gets half way."""
    left = [n]

    def counted(act: Callable[..., object]) -> Callable[..., object]:
        def acting(*arguments: object, **named: object) -> object:
            left[0] -= 1
            if left[0] == 0:
                os._exit(CRASHED)
            return act(*arguments, **named)

        return acting

    for name in ("fsync", "replace", "rename", "link", "mkdir", "unlink", "rmdir"):
        setattr(os, name, counted(getattr(os, name)))

    def counted_open(path: Path, mode: str) -> object:
        file = builtins.open(path, mode)  # noqa: SIM115

        def write(content: bytes) -> None:
            left[0] -= 1
            if left[0] == 0:
                file.write(content[: len(content) // 2])
                file.flush()
                os._exit(CRASHED)
            file.write(content)

        class Counted:
            def __enter__(self) -> "Counted":
                return self

            def __exit__(self, *error: object) -> None:
                file.close()

        opened = Counted()
        opened.write, opened.flush, opened.fileno = write, file.flush, file.fileno
        return opened

    files.open = counted_open


def store_crashes(folder: Path, every: int) -> None:
    """Writing examples, a run with checkpoints, a claim and the catalog, with a crash at each n: whole after each."""
    expected, n = files_of(made_study(folder / "calm", 1)), 0

    def write(study: Study, n: int = 0) -> None:
        crash_at(n)
        with claims.claim(study.path / "claims", "something"):
            write_made_run(study)
            catalog.refresh(study)

    for n in crash_moments("store", every):
        study = Study(folder / f"{n}")
        crashed = exit_code(in_child(lambda n=n, study=study: write(study, n))) == CRASHED
        assert not (faults := verify_study(study)), faults
        assert len(study.levels()) == 3 * len(study.runs())
        assert not claims.living_claims(study.path / "claims")
        assert exit_code(in_child(lambda study=study: write(study))) == 0
        assert files_of(study) == expected
        assert not (faults := verify_study(study)), faults
        files.remove_leftovers(study.path)
        assert not [path for path in study.path.rglob("*") if path.name.endswith(files.TEMPORARY)]
        if not crashed:
            break
    print(f"{n - 1} moments, each {every}: whole after each, and written after each.")


if __name__ == "__main__":
    print(HOW_TO_REPLAY, flush=True)
    store_crashes(Path(sys.argv[1]), int(sys.argv[2]))
