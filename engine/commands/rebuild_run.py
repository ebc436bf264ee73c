"""`rebuild`: compute a run of a study again from its spec and compare every prediction."""

import tempfile
from argparse import ArgumentParser, Namespace, _SubParsersAction
from pathlib import Path

from rich.console import Console
from rich.table import Table

from engine.commands.progress import run_display
from engine.commands.trust import add_trust
from engine.datasets.dataset_table import data_root
from engine.errors import PruneScopeError
from engine.runs.reproduce import RunComparison, compare_runs, reproduction_spec
from engine.specs.arithmetic import as_recorded
from engine.store.study import Study


def add(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add `rebuild`."""
    parser = commands.add_parser("rebuild", help="compute a run again from its spec and compare its predictions")
    parser.add_argument("run", help="key of the run; `show` lists all")
    parser.add_argument("--study", required=True, help="folder of the study that has it")
    parser.add_argument("--levels", type=int, help="only so many levels after the dense one (default: all)")
    parser.add_argument("--to", help="folder of a study that keeps what is computed (default: it is thrown away)")
    parser.add_argument("--data", help="root of the data sets (default: $PRUNESCOPE_DATA, or a cache folder)")
    parser.add_argument("--device", default="auto", help="cuda, mps, cpu or auto")
    add_trust(parser)
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
        made = study.run_record(options.run).provenance
        with as_recorded(made), run_display(spec, console) as watch:
            run_experiment(spec, aside, data_root(options.data), options.device, watch)
        comparison = compare_runs(study, options.run, aside, spec)
    if not comparison.is_equal:
        console.print(_table(comparison))
    for sentence in sentences(options.run, comparison):
        console.print(sentence, highlight=False)
    return 0 if comparison.is_equal else 1


def sentences(run: str, comparison: RunComparison) -> list[str]:
    """What the comparison says, and why predictions may differ."""
    first, last = comparison.levels[0], comparison.levels[-1]
    predictions = f"levels {first.level} to {last.level}, {first.n_examples:,} predictions each"
    if comparison.is_equal:
        return [f"Run {run} comes out as it was kept: {predictions}, all equal."]
    equal = sum(level.n_equal for level in comparison.levels) / sum(level.n_examples for level in comparison.levels)
    texts = [f"Run {run} does not come out as it was kept: {predictions}, {equal:.2%} of them equal."]
    if comparison.n_missing:
        texts.append(f"Levels that only one of the two has: {comparison.n_missing}.")
    differences = [
        f"{name} {then or 'not recorded'}, here {now or 'not recorded'}"
        for name, (then, now) in comparison.environment_differences.items()
    ]
    same = "Versions and kind of processor are the same."
    texts.append(f"Kept with {'; '.join(differences)}." if differences else same)
    texts.append(
        "Processors and versions round differently, and training magnifies that; so it does any difference between the "
        "data set's files. Where all of these are the same, a run comes out the same each time."
    )
    return texts


def _table(comparison: RunComparison) -> Table:
    table = Table("level", "predictions equal", "accuracy kept", "accuracy again", box=None, header_style="bold")
    for level in comparison.levels:
        share = f"{level.n_equal:,} of {level.n_examples:,}"
        table.add_row(str(level.level), share, f"{level.accuracy:.2%}", f"{level.accuracy_again:.2%}")
    return table
