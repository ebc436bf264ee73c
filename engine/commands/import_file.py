"""`import`: predictions from elsewhere become runs of a study."""

import json
from argparse import Namespace, _SubParsersAction
from pathlib import Path
from typing import Any

from engine.errors import PruneScopeError
from engine.exchange.mapping import ROLES
from engine.exchange.sandbox import Source, import_file
from engine.store.study import Study


def add(commands: _SubParsersAction) -> None:
    """Add `import`."""
    parser = commands.add_parser("import", help="bring predictions from elsewhere (CSV or Parquet)")
    parser.add_argument("file", help="a long table (a row per model and example) or a wide one (a column per model)")
    parser.add_argument("--study", required=True, help="the study that they join; it is made if it is not there")
    parser.add_argument("--map", action="append", default=[], metavar="ROLE=COLUMN", help=f"roles: {', '.join(ROLES)}")
    parser.add_argument("--set", action="append", default=[], metavar="ROLE=VALUE", help="one value for the whole file")
    parser.add_argument("--groups", help="columns of groups, set apart by commas (default: all that are left)")
    parser.add_argument("--attributes", help="columns of numbers, set apart by commas")
    parser.add_argument(
        "--sidecar", help="JSON with columns, constants, models, classes (default: FILE.json, if there)"
    )
    parser.add_argument("--title", default="", help="title of a new study")
    parser.set_defaults(act=import_predictions)


def import_predictions(options: Namespace) -> None:
    """Import the file and say what came of it."""
    path = Path(options.file)
    if not path.is_file():
        raise PruneScopeError(f"There is no file {path}.")
    beside = Path(options.sidecar) if options.sidecar else path.with_name(f"{path.name}.json")
    if options.sidecar and not beside.is_file():
        raise PruneScopeError(f"There is no sidecar {beside}.")
    mapping: dict[str, Any] = {"columns": _pairs(options.map, "--map"), "constants": _pairs(options.set, "--set")}
    for name in ("groups", "attributes"):
        if getattr(options, name):
            mapping[name] = [column.strip() for column in getattr(options, name).split(",")]
    source = Source(path, path.name, beside if beside.is_file() else None)
    done = import_file(source, Study(options.study), mapping, options.title)
    for one in done.sets:
        extra = ", ".join((*one["groups"], *one["attributes"])) or "none"
        print(
            f"{one['example_set']}: {one['n_runs']} runs, {one['n_models']} models, {one['n_examples']:,} examples, "
            f"{one['n_classes']} classes; groups and attributes: {extra}."
        )
    there = f", {done.n_there} were there already" if done.n_there else ""
    print(f"{done.n_new} runs are new{there}; kept in {options.study}.")


def _pairs(words: list[str], flag: str) -> dict[str, str]:
    pairs = {}
    for word in words:
        role, equals, value = word.partition("=")
        if not equals:
            raise PruneScopeError(f"{flag} {word!r} should look like ROLE={json.dumps('value')[1:-1]}.")
        pairs[role] = value
    return pairs
