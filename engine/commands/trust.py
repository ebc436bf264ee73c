"""`--trust`: code of the user's own that settings name by an import path is run only by those who say so."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.import_path import trusting


def add_trust(parser: ArgumentParser) -> None:
    """Add `--trust` to a command that computes."""
    parser.add_argument(
        "--trust",
        action="store_true",
        help="import what names with a colon (package.module:name) stand for; this runs that code",
    )


@contextmanager
def as_trusted(options: Namespace) -> Iterator[None]:
    """Follow import paths within this block where the command was told to, from the folder it was started in too."""
    trust = bool(getattr(options, "trust", False))
    if trust and str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    with trusting(trust):
        yield
