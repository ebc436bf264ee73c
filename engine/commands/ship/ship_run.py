"""`ship`: the model of a run at a level as a folder of files that is proved to be that network."""

from argparse import ArgumentParser, Namespace, _SubParsersAction
from pathlib import Path

from rich.console import Console

from engine.commands.progress import run_display
from engine.commands.trust import add_trust
from engine.datasets.location import data_root
from engine.errors import PruneScopeError
from engine.run_spec import RunSpec
from engine.store.study import Study


def add(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add `ship`."""
    parser = commands.add_parser("ship", help="write the model of a run as files, proved to be that network")
    parser.add_argument("run", help="key of the run; `show` lists all")
    parser.add_argument("--study", required=True, help="folder of the study that has it")
    parser.add_argument("--level", type=int, help="level of the run (default: its last)")
    parser.add_argument("--to", required=True, help="folder to write; it must not be there yet")
    parser.add_argument("--accept", action="store_true", help="ship it even if some answers differ from the record")
    parser.add_argument("--data", help="root of the data sets (default: $PRUNESCOPE_DATA, or a cache folder)")
    parser.add_argument("--device", default="auto", help="cuda, mps, cpu or auto")
    add_trust(parser)
    parser.set_defaults(act=ship_run)


def ship_run(options: Namespace) -> int:
    """Say how long it takes, write the folder, and say what was proved and measured."""
    from engine.shipping.shipment import Order, ship
    from engine.shipping.shipped_words import shipped_sentences
    from engine.shipping.trained import again_spec, seconds_needed

    study, console = Study(options.study), Console()
    if options.run not in (runs := study.runs()):
        raise PruneScopeError(f"There is no run {options.run!r} among the {len(runs)} of {study.path}.")
    level = int(study.prediction_matrix(options.run)[0].max()) if options.level is None else options.level
    seconds = seconds_needed(study, options.run, level)
    if seconds:
        console.print(f"No checkpoint was kept; computing the run again takes about {_minutes(seconds)}.")
    spec: RunSpec = again_spec(study, options.run, level)
    with run_display(spec, console) as watch:
        order = Order(
            options.run,
            level,
            Path(options.to).expanduser(),
            data_root(options.data),
            options.device,
            options.accept,
            watch=watch,
            tell=lambda text: console.print(text, highlight=False),
        )
        shipped = ship(study, order)
    for sentence in shipped_sentences(shipped):
        console.print(sentence, highlight=False)
    return 0


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 90 else f"{max(seconds, 1):.0f} seconds"
