"""`list`: what there is to choose from."""

from argparse import Namespace, _SubParsersAction

from rich.table import Table

from engine.analysis.unfairness import UNFAIRNESS
from engine.commands.progress import wide_console
from engine.datasets.dataset_table import DATASETS
from engine.networks.network_table import NETWORKS
from engine.pruning.schedules import SCHEDULES, TREATMENTS
from engine.pruning.techniques import TECHNIQUES
from engine.specs.mitigation import CONSTRAINTS, MITIGATIONS

Rows = list[tuple[str, str, str]]


def _rows(table: dict) -> Rows:
    return [(row.key, row.label, row.help) for row in table.values()]


THINGS: dict[str, Rows] = {
    "techniques": _rows(TECHNIQUES),
    "networks": _rows(NETWORKS),
    "datasets": _rows(DATASETS),
    "schedules": _rows(SCHEDULES),
    "treatments": [(key, key.capitalize(), text) for key, text in TREATMENTS.items()],
    "mitigations": _rows(MITIGATIONS),
    "constraints": _rows(CONSTRAINTS),
    "unfairness": _rows(UNFAIRNESS),
}


def add(commands: _SubParsersAction) -> None:
    """Add `list`."""
    parser = commands.add_parser("list", help="what there is: techniques, networks, data sets, ...")
    parser.add_argument("things", choices=THINGS)
    parser.set_defaults(act=print_list)


def print_list(options: Namespace) -> None:
    """Print one table."""
    table = Table("key", "name", "what it does", box=None, header_style="bold")
    for row in THINGS[options.things]:
        table.add_row(*row)
    wide_console().print(table)
