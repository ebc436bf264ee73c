"""An import's own process: `python -m engine.jobs.import_process` reads a request and answers, each a line of JSON.

It works beside the server and after everybody else, so that pages stay quick, and it ends with the server: an import
is all or none.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from engine.access import Person, acting_as
from engine.errors import PruneScopeError
from engine.exchange.mapping import ColumnMapping
from engine.exchange.messages import Refused
from engine.exchange.sandbox import Imported, Source, import_file
from engine.exchange.sandbox_child import end_with_parent
from engine.store import catalog
from engine.store.study import Study

POLITE = 10
"""How far an import stands back behind the pages when both want the processor."""


class ImportRequest(msgspec.Struct, frozen=True):
    """Files to import, the study that they go to, what their columns mean, and who brings them."""

    source: Source
    study: Path
    mapping: ColumnMapping
    title: str
    person: Person | None


class ImportAnswer(msgspec.Struct, frozen=True):
    """What was imported, or why nothing was."""

    imported: Imported | None
    refused: Refused | None = None


def encode(message: ImportRequest | ImportAnswer) -> bytes:
    """The message as a line of JSON."""
    return msgspec.json.encode(message, enc_hook=str)


def decode_request(line: bytes) -> ImportRequest:
    """The request in a line."""
    return msgspec.json.decode(line, type=ImportRequest, dec_hook=_path)


def decode_answer(line: bytes) -> ImportAnswer:
    """The answer in a line."""
    return msgspec.json.decode(line, type=ImportAnswer, dec_hook=_path)


def _path(kind: Any, value: Any) -> Any:
    return kind(value)


def perform(request: ImportRequest) -> ImportAnswer:
    """Import the files, and have the study's catalog know them, so that no page has to wait for that."""
    try:
        with acting_as(request.person):
            imported = import_file(request.source, Study(request.study), request.mapping, request.title)
    except PruneScopeError as error:
        return ImportAnswer(None, Refused(str(error)))
    with suppress(PruneScopeError):  # the runs are there; the next page says what is wrong
        catalog.refresh(Study(request.study))
    return ImportAnswer(imported)


def main() -> None:
    """Read the request and answer it."""
    end_with_parent()
    os.nice(POLITE)
    answer = perform(decode_request(sys.stdin.buffer.read()))
    sys.stdout.buffer.write(encode(answer) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
