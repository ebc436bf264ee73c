"""Kinds of points of the study that ships, a run of each that can be computed again, and a copy to work in."""

from collections.abc import Callable
from pathlib import Path

from engine.pruning.techniques import TECHNIQUES
from engine.run_spec import RunSpec
from engine.store.study import Study

DEMO = Path(__file__).resolve().parents[2] / "data" / "demo"


def is_plain(spec: RunSpec) -> bool:
    """Whether its networks are cut, and nothing else is done to them."""
    return spec.mitigation == "none" and not TECHNIQUES[spec.technique].quantizes and spec.technique != "unpruned"


KINDS: dict[str, Callable[[RunSpec], bool]] = {
    "structured": lambda spec: is_plain(spec) and "_structured" in spec.technique,
    "unstructured": lambda spec: is_plain(spec) and "unstructured" in spec.technique and spec.treatment == "rewind",
    "int8": lambda spec: bool(TECHNIQUES[spec.technique].quantizes),
    "finetuned": lambda spec: is_plain(spec) and "unstructured" in spec.technique and spec.treatment == "finetune",
    "mitigated": lambda spec: spec.mitigation != "none",
}


def demo_copy(folder: Path) -> Study:
    """The study that ships, by links, so that nothing is written into it."""
    folder.mkdir(parents=True)
    for path in DEMO.iterdir():
        (folder / path.name).symlink_to(path)
    return Study(folder)


def portable_run(study: Study, kind: str) -> str | None:
    """A run of this kind that comes out the same on every x86-64 processor, the quickest one."""
    found = []
    for key in study.runs():
        record = study.run_record(key)
        if KINDS[kind](record.spec) and str(record.provenance.get("processor", "")).endswith("portable"):
            found.append((float(record.provenance["seconds"]), key))
    return min(found)[1] if found else None
