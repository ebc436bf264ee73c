"""The steps of a decision as files: sealed, in their order, and counted, so that the last cannot go unseen."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.run_spec import SCHEMA
from engine.store.files import file_digest, one_at_a_time, sealed_json, unsealed_json, write_file

STEPS = "steps.json"
"""How many steps a decision had, and the digest of the last of them."""
_EVENT = re.compile(r"event-\d{4}\.json")


def event_name(number: int) -> str:
    """File of a step."""
    return f"event-{number:04}.json"


def event_names(folder: Path) -> list[str]:
    """Files of the steps of a decision, the first one first."""
    return sorted(path.name for path in folder.iterdir() if _EVENT.fullmatch(path.name))


def steps_content(n: int, last: bytes) -> bytes:
    """Content of STEPS."""
    return sealed({"n": n, "last": file_digest(last)})


def count_steps(folder: Path) -> None:
    """Have `steps.json` say which steps there are; where a kill comes first, the next step does."""
    with one_at_a_time(folder):
        names = event_names(folder)
        write_file(folder / STEPS, steps_content(len(names), (folder / names[-1]).read_bytes()))


def check_steps(folder: Path, digests: Sequence[str]) -> None:
    """Raise ValueError where fewer or other steps are there than were counted; a kill may leave one uncounted."""
    counted = unsealed((folder / STEPS).read_bytes())
    if not 1 <= counted["n"] <= len(digests) or digests[counted["n"] - 1] != counted["last"]:
        raise ValueError(f"its history had {counted['n']} steps, and not all of them are there")


def sealed(values: Mapping[str, Any]) -> bytes:
    """Content of a file of a decision."""
    return sealed_json({"schema": SCHEMA, **values}, indent=1)


def unsealed(content: bytes) -> dict[str, Any]:
    """What such a file says; ValueError where it is not what was written."""
    values = unsealed_json(content)
    if values["schema"] != SCHEMA:
        raise ValueError(f"it has schema version {values['schema']}; this engine reads {SCHEMA}")
    return values
