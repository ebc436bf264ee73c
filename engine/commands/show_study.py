"""`show`: what a study holds, run by run."""

from argparse import ArgumentParser, Namespace, _SubParsersAction

import pandas as pd
from rich.table import Table

from engine.commands.progress import wide_console
from engine.errors import PruneScopeError
from engine.store import catalog
from engine.store.study import Study


def add(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add `show`."""
    parser = commands.add_parser("show", help="what a study holds")
    parser.add_argument("--study", required=True)
    parser.set_defaults(act=show_study)


def show_study(options: Namespace) -> None:
    """Print one line per run: what it is, and its accuracy dense, where that is recorded, and at its last level."""
    study, console = Study(options.study), wide_console()
    if not study.path.is_dir():
        raise PruneScopeError(f"There is no study in {study.path}.")
    found = catalog.refresh(study)
    levels = pd.concat([found.levels, found.control_levels], ignore_index=True)
    if levels.empty:
        console.print(f"No finished run in {options.study}; `{options.program} run --help` says how to make one.")
        return
    identity = ["dataset", "split", "network", "technique", "treatment", "seed", "protocol"]
    heads = [*identity, "levels", "dense accuracy", "last sparsity", "last accuracy"]
    table = Table("run", *heads, box=None, header_style="bold")
    for run, rows in levels.groupby("run", observed=True, sort=False):
        first, last = rows.iloc[0], rows.iloc[-1]
        dense = f"{first['accuracy']:.1%}" if first["sparsity"] == 0 else "not recorded"
        facts = [str(last["level"]), dense, f"{last['sparsity']:.2%}", f"{last['accuracy']:.1%}"]
        table.add_row(str(run), *(str(first[name]) for name in identity), *facts)
    console.print(table)
    n_repeats = int(found.is_repeat.sum())
    repeats = f" Another {n_repeats} repeat one of them with less kept, and are not counted." if n_repeats else ""
    console.print(f"{levels['run'].nunique()} runs, {len(levels)} models.{repeats}")
