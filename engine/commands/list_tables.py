"""`list`: what there is to choose from."""

from argparse import ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Mapping

from rich.table import Table

from engine.analysis.unfairness import UNFAIRNESS
from engine.commands.progress import wide_console
from engine.specs.choices import CHOICES, ChoiceRow

THINGS: Mapping[str, Mapping[str, ChoiceRow]] = {**CHOICES, "unfairness": UNFAIRNESS}


def add(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add `list`."""
    parser = commands.add_parser("list", help="what there is: techniques, networks, data sets, ...")
    parser.add_argument("things", choices=THINGS)
    parser.set_defaults(act=print_list)


def print_list(options: Namespace) -> None:
    """Print one table."""
    table = Table("key", "name", "what it does", box=None, header_style="bold")
    for row in THINGS[options.things].values():
        table.add_row(row.key, row.label, row.help)
    wide_console().print(table)
