"""One module per command; each adds its arguments and does its work, and says mistakes in a sentence."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from engine import __version__
from engine.access import acting_as, this_user
from engine.commands.trust import as_trusted
from engine.errors import PruneScopeError

COMMANDS = {
    "serve": "serve_pages",
    "list": "list_tables",
    "run": "run_one",
    "sweep": "run_sweep",
    "jobs": "background.job_commands",
    "show": "show_study",
    "regression": "fit_regression",
    "analyse": "analyse_study",
    "verify": "verify_study",
    "rebuild": "rebuild_run",
    "data": "get_data",
    "import": "import_file",
    "export": "export_study",
    "ship": "ship.ship_run",
    "check": "ship.check_folder",
    "gate": "ship.gate_candidate",
}
"""Commands and their modules, loaded when they are asked for: a server need not wait for what a run needs."""
MODULE = "python -m engine"
"""What to type without installing; errors from below name it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code: 0 done, 1 a mistake that was said, 2 arguments that make no sense, 130 interrupted."""
    options = parsed(sys.argv[1:] if arguments is None else arguments, program_name(sys.argv[0]))
    try:
        with as_trusted(options), acting_as(this_user()):
            return options.act(options) or 0
    except PruneScopeError as error:
        print(f"{error}".replace(MODULE, options.program), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted. Start the same command again to go on from the last finished level.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 0


def parsed(arguments: Sequence[str], program: str) -> argparse.Namespace:
    """What the arguments ask for: the command's function as `act`, and its options."""
    parser = argparse.ArgumentParser(program, description="Run, inspect and show pruning experiments.")
    parser.add_argument("--version", action="version", version=f"PruneScope {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name in arguments[:1] if set(arguments[:1]) & COMMANDS.keys() else COMMANDS:
        import_module(f"{__name__}.{COMMANDS[name]}").add(commands)
    return parser.parse_args(arguments, argparse.Namespace(program=program))


def program_name(started: str) -> str:
    """What a user types to get here: the installed command, or the module."""
    return "prunescope" if Path(started).stem == "prunescope" else MODULE
