"""Which files does an import read: those that were named and all in a folder, each with what its path says."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from engine.errors import PruneScopeError
from engine.exchange.guess import guessed_model
from engine.exchange.mapping import ROLES, ColumnMapping, Constant

ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".jsonl", ".jsonl.gz", ".ndjson", ".parquet", ".pq")
"""What is read of a folder; a file that is named is read whatever it is called."""
MOST = 20_000


@dataclass(frozen=True)
class FoundFile:
    """A file, what it is called in sentences, and what its path says of all its rows."""

    path: Path
    name: str
    facts: dict[str, Constant] = field(default_factory=dict)


def found_files(paths: Iterable[Path]) -> list[FoundFile]:
    """All files to read, in the order of their paths, so that the order in which they were named does not matter."""
    files: dict[Path, Path] = {}
    for path in paths:
        if path.is_dir():
            inside = [file for file in sorted(path.rglob("*")) if _is_table(file, path)]
            if not inside:
                raise PruneScopeError(f"There is no table in {path}; allowed are {', '.join(ENDINGS)}.")
            files |= {file.resolve(): file for file in inside}
        elif path.is_file():
            files[path.resolve()] = path
        else:
            raise PruneScopeError(f"There is no file {path}.")
    if len(files) > MOST:
        raise PruneScopeError(f"These are {len(files):,} files; allowed are {MOST:,}.")
    ordered = sorted(files)
    return [FoundFile(path, name, path_facts(path)) for path, name in zip(ordered, _names(ordered), strict=True)]


def path_facts(path: Path) -> dict[str, Constant]:
    """What a path says: `seed=1/` as folders of Parquet do, or `magnitude@0.9#1` as the name of file or folder."""
    facts: dict[str, Constant] = {}
    for folder in path.parts[:-1]:
        name, equals, value = folder.partition("=")
        role = _role(name)
        if equals and role and value:
            facts[role] = value
    for text in (_stem(path.name), path.parent.name):
        model = guessed_model(text)
        if model is not None and "sparsity" not in facts:
            facts = {**model.given(), **facts}
    return facts


def with_path_facts(mapping: ColumnMapping, facts: dict[str, Constant], names: Sequence[str]) -> ColumnMapping:
    """The mapping with what the path says of roles that neither a column nor the user says."""
    taken = {_role(name) for name in names}
    new = {role: value for role, value in facts.items() if not mapping.says(role) and role not in taken}
    return msgspec.structs.replace(mapping, constants={**new, **mapping.constants}) if new else mapping


def _role(name: str) -> str:
    plain = name.casefold().replace(" ", "_").replace("-", "_")
    return next((role for role, (_, aliases) in ROLES.items() if plain == role or plain in aliases), "")


def _is_table(file: Path, folder: Path) -> bool:
    hidden = any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
    return file.is_file() and not hidden and file.name.casefold().endswith(ENDINGS)


def _stem(name: str) -> str:
    ending = max((end for end in ENDINGS if name.casefold().endswith(end)), key=len, default="")
    return name[: len(name) - len(ending)]


def _names(paths: Sequence[Path]) -> list[str]:
    """Short names that tell the paths apart: from the last folder on that they share."""
    if len(paths) == 1:
        return [paths[0].name]
    shared = os.path.commonpath([path.parent for path in paths])
    return [path.relative_to(shared).as_posix() for path in paths]
