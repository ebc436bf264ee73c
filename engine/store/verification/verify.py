"""Is a study what was written? Every file against its checksum, every table against the others.

What is broken is named and set aside, so that nobody reads it and a sweep makes it again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from engine.datasets.groups import CLASS
from engine.errors import PruneScopeError
from engine.store import catalog
from engine.store.analyses import broken_analyses
from engine.store.annotations import broken_marks
from engine.store.files import checked_tensors, publish, remove_folder, write_file
from engine.store.images import image_sets, read_images
from engine.store.people.journal import SET_ASIDE, note_deed
from engine.store.records.decisions import broken_decisions
from engine.store.records.measures import FILE as MEASURES
from engine.store.records.measures import broken_measures
from engine.store.study import Study
from engine.store.verification.notes import broken_journal, broken_notes, lost_marks
from engine.store.verification.run_checks import Tested, check_runs, in_words


@dataclass(frozen=True)
class Fault:
    """What is broken, as its path in the study, and why."""

    name: str
    reason: str


def verify_study(study: Study, workers: int = 1, only: Sequence[str] | None = None) -> list[Fault]:
    """Everything that is broken in a study; empty where it is whole.

    So many processes look at the runs: at all of them, or at these only.
    """
    found: list[Fault] = []
    try:
        study.info  # noqa: B018
    except PruneScopeError as error:
        found.append(Fault("study.toml", str(error)))
    tested: dict[str, Tested] = {}
    for name in study.example_sets():
        try:
            tested[name] = _examples(study, name)
        except (PruneScopeError, ValueError, KeyError) as error:
            found.append(Fault(f"examples/{name}", in_words(error)))
    for name in study.training_sets():
        try:
            tested |= {name: _with_training(study, name, tested[name])} if name in tested else {}
        except (PruneScopeError, ValueError, KeyError, TypeError) as error:
            found.append(Fault(f"examples/{name}-train", in_words(error)))
    for name in image_sets(study):
        try:
            _check_images(study, name, tested)
        except (PruneScopeError, ValueError) as error:
            found.append(Fault(f"images/{name}", in_words(error)))
    checked = list(check_runs(study, study.runs() if only is None else only, tested, workers))
    found += [Fault(f"runs/{run.key}", run.reason) for run in checked if run.part is None]
    missing = {name for run in checked for name in run.missing}
    parts = [run.part for run in checked if run.part is not None]
    found += [Fault(f"examples/{name}", "It is missing, and runs need it.") for name in sorted(missing)]
    if reason := catalog.describe_mismatch(study, parts):
        found.append(Fault("catalog", reason))
    found += [Fault(*one) for one in broken_analyses(study)]
    found += [Fault(name, "It is no mark that was written here.") for name in broken_marks(study)]
    found += [Fault(*one) for one in broken_decisions(study)]
    found += [Fault(MEASURES, reason)] if (reason := broken_measures(study)) else []
    found += [Fault(name, "It is missing, and the journal knows of it.") for name in lost_marks(study)]
    found += [Fault(*one) for one in (*broken_journal(study), *broken_notes(study))]
    return found + list(_broken_snapshots(study))


def set_aside(study: Study, fault: Fault) -> str:
    """What was done about it, in words: runs and examples go to `broken` with the reason; the rest can be made anew."""
    kind, _, name = fault.name.partition("/")
    if kind == "runs":
        target = _new_folder(study, name)
        publish(study.path / "runs" / name, target)
        return _note(study, target, fault)
    if kind == "images":
        (study.path / f"{fault.name}.parquet").unlink(missing_ok=True)
        return "removed; `python -m engine data images` lays it in again"
    if kind == "examples":
        files = [path for end in ("", ".classes") if (path := study.path / f"{fault.name}{end}.parquet").exists()]
        if not files:
            return "the next sweep makes it"
        target = _new_folder(study, name)
        for path in files:
            publish(path, target / path.name)
        return _note(study, target, fault)
    if kind in ("marks", "decisions", "failures", "jobs"):
        note_deed(study.path, "", SET_ASIDE, fault.name)
        if not (study.path / fault.name).exists():
            return "lost; the journal says so"
        target = _new_folder(study, name.replace("/", "-"))
        publish(study.path / fault.name, target / Path(name).name)
        return _note(study, target, fault)
    if kind in ("dense", "work"):
        (study.path / fault.name).unlink(missing_ok=True)
        return "removed; it is made again when it is needed"
    if kind == "analyses":
        for path in (study.path / kind).glob(f"{name}.*"):
            path.unlink(missing_ok=True)
        return "removed; `analyse` makes it again"
    if kind == MEASURES:
        (study.path / MEASURES).unlink(missing_ok=True)
        return "removed; shipping measures again"
    if kind == "catalog":
        remove_folder(study.path / "catalog")
        return "made anew from the runs"
    return "left as it is; mend it by hand"


def _new_folder(study: Study, name: str) -> Path:
    n = 1
    while (target := study.path / "broken" / f"{name}-{n}").exists():
        n += 1
    return target


def _note(study: Study, target: Path, fault: Fault) -> str:
    write_file(target / "reason.txt", f"{fault.name}: {fault.reason}\n".encode())
    return f"set aside in {target.relative_to(study.path)}"


def _examples(study: Study, name: str) -> Tested:
    examples, facts = study.examples(name), study.class_facts(name)
    labels, n_classes = examples["label"].to_numpy(), len(facts)
    if not np.array_equal(examples["example"], np.arange(len(labels))):
        raise ValueError("its examples are not numbered from 0")
    if not np.array_equal(np.bincount(labels, minlength=n_classes), facts["n_test"]):
        raise ValueError("its labels differ in number from what its classes say")
    named = examples.assign(**{CLASS: facts["name"].to_numpy()[labels]})
    return Tested(labels, n_classes, named, data=study.data_digest(name))


def _with_training(study: Study, name: str, tested: Tested) -> Tested:
    labels, facts = study.training_examples(name)["label"].to_numpy(), study.class_facts(name)
    counted = np.bincount(labels, minlength=tested.n_classes)
    if not np.array_equal(counted, facts.get("n_available", facts["n_train"])) or (counted < facts["n_train"]).any():
        raise ValueError("its labels differ in number from what its classes say")
    return replace(tested, n_training=len(labels))


def _check_images(study: Study, name: str, tested: Mapping[str, Tested]) -> None:
    """Raise where images are damaged, or are of no examples that the study has."""
    read = read_images(study, name)
    labels = [known.labels for other, known in tested.items() if other == name or other.startswith(f"{name}-")]
    if read is not None and not any(np.array_equal(read[1], known) for known in labels):
        raise ValueError("its labels are not those of any examples here")


def _broken_snapshots(study: Study) -> Iterator[Fault]:
    """Dense networks and work in progress that are damaged; names with a dot in front are not finished."""
    for path in sorted([*study.path.glob("dense/[!.]*"), *study.path.glob("work/[!.]*/**/[!.]*.*")]):
        name = path.relative_to(study.path).as_posix()
        try:
            checked_tensors(path, name.removeprefix("work/"), says_place=False)
        except FileNotFoundError:
            pass  # its run has just been finished
        except (OSError, ValueError) as error:
            yield Fault(name, f"It is damaged: {error}.")
