"""`import`: predictions from elsewhere become runs of a study."""

from argparse import ArgumentParser, Namespace, _SubParsersAction
from dataclasses import replace
from pathlib import Path

from engine.errors import PruneScopeError
from engine.exchange.mapping import ROLES, ColumnMapping
from engine.exchange.sandbox import Source, import_file
from engine.exchange.sidecar import mapping_from_json
from engine.exchange.sources.every_eval_ever import found_instances
from engine.exchange.sources.lm_eval import found_samples
from engine.exchange.sources.several import FoundFile, found_files
from engine.store.study import Study

HARNESSES = {"lm-eval": found_samples, "every-eval-ever": found_instances}
"""Harnesses whose files are read, and how they are found in a folder."""


def add(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add `import`."""
    parser = commands.add_parser("import", help="bring predictions from elsewhere (CSV, JSON lines or Parquet)")
    parser.add_argument(
        "files",
        nargs="+",
        help="long tables (a row per model and example), wide ones (a column per model), or folders of them; "
        "several are joined by example",
    )
    parser.add_argument(
        "--from",
        dest="kind",
        choices=["table", *HARNESSES],
        default="table",
        help="lm-eval: folders with samples_*.jsonl; every-eval-ever: folders with instances (HELM, Inspect)",
    )
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="FOLDER=FACTS",
        help="harnesses: what a model's folder does not say, as in llama-q4=technique=gptq,bits=4",
    )
    parser.add_argument(
        "--append", action="store_true", help="models join the runs that the study has, in whatever order they come"
    )
    parser.add_argument("--study", required=True, help="the study that they join; it is made if it is not there")
    parser.add_argument("--map", action="append", default=[], metavar="ROLE=COLUMN", help=f"roles: {', '.join(ROLES)}")
    parser.add_argument("--set", action="append", default=[], metavar="ROLE=VALUE", help="one value for the whole file")
    parser.add_argument("--groups", help="columns of groups, set apart by commas (default: all that are left)")
    parser.add_argument("--attributes", help="columns of numbers, set apart by commas")
    parser.add_argument("--leave-out", metavar="COLUMNS", help="columns that are no groups, set apart by commas")
    parser.add_argument(
        "--sidecar", help="JSON with columns, constants, models, classes (default: FILE.json, if there)"
    )
    parser.add_argument("--title", default="", help="title of a new study")
    parser.set_defaults(act=import_predictions)


def import_predictions(options: Namespace) -> None:
    """Import the file and say what came of it."""
    if options.sidecar and not Path(options.sidecar).is_file():
        raise PruneScopeError(f"There is no sidecar {options.sidecar}.")
    first, *others = _sources(options)
    source = replace(first, more=tuple(others))
    imported = import_file(source, Study(options.study), _mapping(options), options.title, append=options.append)
    for summary in imported.example_sets:
        extra = ", ".join((*summary.groups, *summary.attributes)) or "none"
        print(
            f"{summary.example_set}: {summary.n_runs} runs, {summary.n_models} models, "
            f"{summary.n_examples:,} examples, {summary.n_classes} classes; groups and attributes: {extra}."
        )
    present = f", {imported.n_present} were there already" if imported.n_present else ""
    print(f"{imported.n_new} runs are new{present}; kept in {options.study}.")


def _sources(options: Namespace) -> list[Source]:
    """The files to read, in an order that does not depend on how they were named."""
    if options.kind == "table":
        return [_source(file, options.sidecar) for file in found_files(map(Path, options.files))]
    given = {name: _pairs(facts.split(","), "--model") for name, facts in _pairs(options.model, "--model").items()}
    folders = sorted({Path(folder).resolve() for folder in options.files})
    missing = next((folder for folder in folders if not folder.is_dir()), None)
    if missing:
        raise PruneScopeError(f"There is no folder {missing}.")
    found = [file for folder in folders for file in HARNESSES[options.kind](folder, given)]
    return [Source(file.path, file.name, None, file.facts, options.kind) for file in found]


def _source(file: FoundFile, sidecar: str | None) -> Source:
    beside = Path(sidecar) if sidecar else file.path.with_name(f"{file.path.name}.json")
    return Source(file.path, file.name, beside if beside.is_file() else None, file.facts)


def _mapping(options: Namespace) -> ColumnMapping:
    """What the options say of the columns."""
    lists = {name: getattr(options, name) for name in ("groups", "attributes", "leave_out")}
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
