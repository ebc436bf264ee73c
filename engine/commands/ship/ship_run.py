"""`ship`: the model of a run at a level as a folder of files that is proved to be that network."""

import time
from argparse import ArgumentParser, Namespace, _SubParsersAction
from pathlib import Path

from rich.console import Console

from engine.commands.progress import run_display
from engine.commands.trust import add_trust
from engine.datasets.location import data_root
from engine.errors import PruneScopeError
from engine.pruning.schedules import n_epochs_after, planned_levels
from engine.run_spec import Progress, RunSpec, Watcher
from engine.shipping.detached import seconds_needed, write_progress
from engine.store.study import Study


def add(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add `ship`."""
    parser = commands.add_parser("ship", help="write the model of a run as files, proved to be that network")
    parser.add_argument("run", help="key of the run; `show` lists all")
    parser.add_argument("--study", required=True, help="folder of the study that has it")
    parser.add_argument("--level", type=int, help="level of the run (default: its last)")
    parser.add_argument("--to", required=True, help="folder to write; it must not be there yet")
    parser.add_argument("--accept", action="store_true", help="ship it even if some answers differ from the record")
    parser.add_argument("--decision", default="", help="id of the study's decision that chose it; it is laid in")
    parser.add_argument("--progress", help="file in which to say how far it is, for who watches from outside")
    parser.add_argument("--data", help="root of the data sets (default: $PRUNESCOPE_DATA, or a cache folder)")
    parser.add_argument("--device", default="auto", help="cuda, mps, cpu or auto")
    add_trust(parser)
    parser.set_defaults(act=ship_run)


def ship_run(options: Namespace) -> int:
    """Say how long it takes, write the folder, and say what was proved and measured."""
    from engine.shipping.shipment import Order, ship
    from engine.shipping.shipped_words import shipped_sentences
    from engine.shipping.trained import again_spec

    study, console = Study(options.study), Console()
    if options.run not in (runs := study.runs()):
        raise PruneScopeError(f"There is no run {options.run!r} among the {len(runs)} of {study.path}.")
    level = int(study.prediction_matrix(options.run)[0].max()) if options.level is None else options.level
    seconds = seconds_needed(study, options.run, level)
    if seconds:
        console.print(f"No checkpoint was kept; computing the run again takes about {_minutes(seconds)}.")
    spec: RunSpec = again_spec(study, options.run, level)
    file = Path(options.progress).expanduser() if options.progress else None
    with run_display(spec, console) as watch:

        def tell(text: str) -> None:
            console.print(text, highlight=False)
            if file is not None:
                write_progress(file, 0.9, text)

        order = Order(
            options.run,
            level,
            Path(options.to).expanduser(),
            data_root(options.data),
            options.device,
            options.accept,
            options.decision,
            watch=watch if file is None else _also(watch, spec, file),
            tell=tell,
        )
        shipped = ship(study, order)
    for sentence in shipped_sentences(shipped):
        console.print(sentence, highlight=False)
    return 0


def _also(watch: Watcher, spec: RunSpec, file: Path) -> Watcher:
    """A watcher that writes into the file as well, at most twice a second."""
    after = n_epochs_after(spec)
    total, last = spec.epochs + len(planned_levels(spec)) * after, [0.0]

    def both(progress: Progress) -> None:
        watch(progress)
        if time.monotonic() - last[0] > 0.5:
            done = (spec.epochs + (progress.level - 1) * after if progress.level else 0) + progress.epoch
            text = f"Computing the run again: level {progress.level} of {progress.n_levels}."
            write_progress(file, 0.9 * min(done / max(total, 1), 1.0), text)
            last[0] = time.monotonic()

    return both


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 90 else f"{max(seconds, 1):.0f} seconds"
