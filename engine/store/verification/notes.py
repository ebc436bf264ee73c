"""Small files about runs and by people: are they what was written?"""

import json
from collections.abc import Iterator

from engine.errors import PruneScopeError
from engine.store.annotations import FOLDER as MARKS
from engine.store.annotations import is_sealed, mark_file
from engine.store.files import unsealed_json
from engine.store.people.journal import FILE as JOURNAL
from engine.store.people.journal import SET_ASIDE, broken_lines, deeds
from engine.store.study import Study

REQUEST_FIELDS = frozenset(
    ("schema", "name", "title", "description", "runs", "names")
    + ("data", "device", "workers", "hours", "gigabytes", "ray", "trust")
)
"""Of what a job was asked for, as the first engines wrote it, without a checksum."""
FAILURE_FIELDS = frozenset(("run", "reason"))
NOTES: dict[str, tuple[frozenset[str], ...] | None] = {
    "decisions/[!.]*.json": None,
    "failures/[!.]*.json": (FAILURE_FIELDS,),
    "jobs/[!.]*.json": None,
    "jobs/[!.]*/request.json": (REQUEST_FIELDS,),
}
"""Where they lie, and the fields of those that may have no checksum; None where no engine sealed them."""


def broken_notes(study: Study) -> Iterator[tuple[str, str]]:
    """Name and reason of each that is not what was written."""
    for pattern, older in NOTES.items():
        for path in sorted(study.path.glob(pattern)):
            try:
                content = path.read_bytes()
                values = unsealed_json(content, [dict(json.loads(content))] if older is None else older)
                if older == (FAILURE_FIELDS,) and values["run"] != path.stem:
                    raise ValueError(f"it is about run {values['run']}")
                if values.get("job", "") not in ("", path.parent.name):
                    raise ValueError(f"it was asked of job {values['job']}")
            except FileNotFoundError:
                pass
            except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
                yield path.relative_to(study.path).as_posix(), f"It is damaged: {error}."


def lost_marks(study: Study) -> list[str]:
    """Files of marks that the journal knows of and that are not there."""
    wanted: dict[str, bool] = {}
    for deed in deeds(study.path):
        if deed.act in ("marked", "took a mark back"):
            examples, _, example = deed.what.partition(":")[0].rpartition(" ")
            wanted[mark_file(examples, int(example), deed.who)] = True
        elif deed.act == SET_ASIDE:
            wanted[deed.what] = False
    return [name for name, is_wanted in wanted.items() if is_wanted and not (study.path / name).exists()]


def broken_journal(study: Study) -> Iterator[tuple[str, str]]:
    """The journal where lines of it are not what was written, with their numbers, or where it is gone."""
    if not (study.path / JOURNAL).exists() and any(map(is_sealed, (study.path / MARKS).glob("*/[!.]*.json"))):
        yield JOURNAL, "It is missing, and there are marks that it should know of."
    try:
        if lines := broken_lines(study.path):
            yield JOURNAL, f"It is damaged: {', '.join(f'line {n}' for n in lines[:5])} cannot be read."
    except PruneScopeError as error:
        yield JOURNAL, str(error)
