"""`rebuild`: compute a run of a study again from its spec and compare every prediction."""

import tempfile
from argparse import Namespace, _SubParsersAction
from pathlib import Path

from rich.console import Console
from rich.table import Table

from engine.commands.progress import run_display
from engine.datasets.dataset_table import data_root
from engine.errors import PruneScopeError
from engine.store.study import Study
from engine.sweeps.reproduce import Rebuilt, compare_runs, reproduction_spec


def add(commands: _SubParsersAction) -> None:
    """Add `rebuild`."""
    parser = commands.add_parser("rebuild", help="compute a run again from its spec and compare its predictions")
    parser.add_argument("run", help="key of the run; `show` lists all")
    parser.add_argument("--study", required=True, help="folder of the study that has it")
    parser.add_argument("--levels", type=int, help="only so many levels after the dense one (default: all)")
    parser.add_argument("--to", help="folder of a study that keeps what is computed (default: it is thrown away)")
    parser.add_argument("--data", help="root of the data sets (default: $PRUNESCOPE_DATA, or a cache folder)")
    parser.add_argument("--device", default="auto", help="cuda, mps, cpu or auto")
    parser.set_defaults(act=rebuild)


def rebuild(options: Namespace) -> int:
    """Say what is equal and what is not; 1 where any prediction differs."""
    from engine.runs.run import run_experiment

    study, console = Study(options.study), Console()
    spec = reproduction_spec(study, options.run, options.levels)
    if options.to and Path(options.to).resolve() == study.path.resolve():
        raise PruneScopeError(f"{options.to} is the study itself; name another folder to compute the run in.")
    with tempfile.TemporaryDirectory() as folder:
        aside = Study(options.to or folder)
        with run_display(spec, console) as watch:
            run_experiment(spec, aside, data_root(options.data), options.device, watch)
        found = compare_runs(study, options.run, aside, spec)
    if not found.is_equal:
        console.print(_table(found))
    for sentence in sentences(options.run, found):
        console.print(sentence, highlight=False)
    return 0 if found.is_equal else 1


def sentences(run: str, found: Rebuilt) -> list[str]:
    """What the comparison says, and why predictions may differ."""
    first, last = found.levels[0], found.levels[-1]
    asked = f"levels {first.level} to {last.level}, {first.n_examples:,} predictions each"
    if found.is_equal:
        return [f"Run {run} comes out as it was kept: {asked}, all equal."]
    equal = sum(level.n_equal for level in found.levels) / sum(level.n_examples for level in found.levels)
    texts = [f"Run {run} does not come out as it was kept: {asked}, {equal:.2%} of them equal."]
    if found.n_missing:
        texts.append(f"Levels that only one of the two has: {found.n_missing}.")
    otherwise = [f"{name} {_said(then)}, here {_said(now)}" for name, (then, now) in found.made_otherwise.items()]
    texts.append(f"Kept with {'; '.join(otherwise)}." if otherwise else "Versions and kind of processor are the same.")
    texts.append(
        "Processors and versions round differently, and training magnifies that; so it does any difference between the "
        "data set's files. Where all of these are the same, a run comes out the same each time."
    )
    return texts


def _said(value: str) -> str:
    return value or "not recorded"


def _table(found: Rebuilt) -> Table:
    table = Table("level", "predictions equal", "accuracy kept", "accuracy again", box=None, header_style="bold")
    for level in found.levels:
        share = f"{level.n_equal:,} of {level.n_examples:,}"
        table.add_row(str(level.level), share, f"{level.accuracy:.2%}", f"{level.accuracy_again:.2%}")
    return table
