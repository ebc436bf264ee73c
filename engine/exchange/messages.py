"""What crosses between the server and the child that reads a user's file: one request and one answer, as JSON."""

import msgspec

from engine.exchange.mapping import ColumnMapping, Constant

Cell = str | int | float | bool | None


class FileToRead(msgspec.Struct, frozen=True):
    """A user's file and how to read it."""

    path: str
    name: str
    """As the user calls it."""
    sidecar: str = ""
    """Path of the sidecar; empty where there is none."""
    mapping: ColumnMapping = ColumnMapping()
    facts: dict[str, Constant] = {}
    """What its path says of all its rows."""
    kind: str = ""
    """What it comes from, where that is no plain table: a harness."""
    more: "tuple[FileToRead, ...]" = ()
    """Files that are read with it, as one table."""


class PreviewRequest(msgspec.Struct, frozen=True, tag="preview"):
    """Show what is in the file, within so much memory and processor time."""

    file: FileToRead
    megabytes: int
    seconds: int


class StageRequest(msgspec.Struct, frozen=True, tag="stage"):
    """Write the file's runs as a study into the folder; the digest is the file's, empty where it is too large."""

    file: FileToRead
    megabytes: int
    seconds: int
    folder: str
    sha256: str = ""
    study: str = ""
    """The study that the runs are to join; empty where it is new."""
    append: bool = False
    """Whether models join the runs that the study has."""


class Preview(msgspec.Struct, frozen=True, tag="preview"):
    """Columns, mapping as far as guessed, and first rows of a file."""

    names: tuple[str, ...]
    fractions: tuple[str, ...]
    """Columns of numbers that are not whole."""
    mapping: ColumnMapping
    rows: tuple[dict[str, Cell], ...]


class ExampleSetSummary(msgspec.Struct, frozen=True):
    """What an import holds on one set of examples, for a sentence."""

    example_set: str
    n_examples: int
    n_classes: int
    n_runs: int
    n_models: int
    groups: tuple[str, ...]
    attributes: tuple[str, ...]


class Staged(msgspec.Struct, frozen=True, tag="staged"):
    """The runs are staged."""

    example_sets: tuple[ExampleSetSummary, ...]
    replaced: tuple[str, ...] = ()
    """Runs of the study that a staged one takes the place of."""


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """The file or the mapping has a mistake, said in a sentence."""

    sentence: str


Request = PreviewRequest | StageRequest
Answer = Preview | Staged | Refused
_requests: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)
_answers: msgspec.json.Decoder[Answer] = msgspec.json.Decoder(Answer)


def encode(message: Request | Answer) -> bytes:
    """The message as one line of JSON."""
    return msgspec.json.encode(message)


def decode_request(line: bytes) -> Request:
    """The request in a line."""
    return _requests.decode(line)


def decode_answer(line: bytes) -> Answer:
    """The answer in a line."""
    return _answers.decode(line)
