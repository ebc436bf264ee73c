"""One module per command; each adds its arguments and does its work, and says mistakes in a sentence."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from engine import __version__
from engine.commands import export_study as export
from engine.commands import fit_regression as regression
from engine.commands import get_data as data
from engine.commands import import_file as importing
from engine.commands import list_tables as lists
from engine.commands import rebuild_run as rebuild
from engine.commands import run_one as run
from engine.commands import run_sweep as sweep
from engine.commands import serve_pages as serve
from engine.commands import show_study as show
from engine.commands import verify_study as verify
from engine.errors import PruneScopeError

COMMANDS = (serve, lists, run, sweep, show, regression, verify, rebuild, data, importing, export)
MODULE = "python -m engine"
"""What to type without installing; errors from below name it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code: 0 done, 1 a mistake that was said, 2 arguments that make no sense, 130 interrupted."""
    program = program_name(sys.argv[0])
    parser = argparse.ArgumentParser(program, description="Run, inspect and show pruning experiments.")
    parser.add_argument("--version", action="version", version=f"PruneScope {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add(commands)
    options = parser.parse_args(arguments, argparse.Namespace(program=program))
    try:
        return options.act(options) or 0
    except PruneScopeError as error:
        print(f"{error}".replace(MODULE, program), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted. Start the same command again to go on from the last finished level.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 0


def program_name(started: str) -> str:
    """What a user types to get here: the installed command, or the module."""
    return "prunescope" if Path(started).stem == "prunescope" else MODULE
