"""`import`: predictions from elsewhere become runs of a study."""

from argparse import ArgumentParser, Namespace, _SubParsersAction
from pathlib import Path

from engine.errors import PruneScopeError
from engine.exchange.mapping import ROLES, ColumnMapping
from engine.exchange.sandbox import Source, import_file
from engine.exchange.sidecar import mapping_from_json
from engine.store.study import Study


def add(commands: "_SubParsersAction[ArgumentParser]") -> None:
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
    sidecar = Path(options.sidecar) if options.sidecar else path.with_name(f"{path.name}.json")
    if options.sidecar and not sidecar.is_file():
        raise PruneScopeError(f"There is no sidecar {sidecar}.")
    source = Source(path, path.name, sidecar if sidecar.is_file() else None)
    imported = import_file(source, Study(options.study), _mapping(options), options.title)
    for summary in imported.example_sets:
        extra = ", ".join((*summary.groups, *summary.attributes)) or "none"
        print(
            f"{summary.example_set}: {summary.n_runs} runs, {summary.n_models} models, "
            f"{summary.n_examples:,} examples, {summary.n_classes} classes; groups and attributes: {extra}."
        )
    present = f", {imported.n_present} were there already" if imported.n_present else ""
    print(f"{imported.n_new} runs are new{present}; kept in {options.study}.")


def _mapping(options: Namespace) -> ColumnMapping:
    """What the options say of the columns."""
    lists = {name: getattr(options, name) for name in ("groups", "attributes")}
    return mapping_from_json(
        {
            "columns": _pairs(options.map, "--map"),
            "constants": _pairs(options.set, "--set"),
            **{name: [column.strip() for column in text.split(",")] for name, text in lists.items() if text},
        }
    )


def _pairs(words: list[str], flag: str) -> dict[str, str]:
    pairs = {}
    for word in words:
        role, equals, value = word.partition("=")
        if not equals:
            raise PruneScopeError(f"{flag} {word!r} should look like ROLE=value.")
        pairs[role] = value
    return pairs
