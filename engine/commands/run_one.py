"""`run`: compute one run, with a line that says how far it is."""

import time
from argparse import ArgumentParser, BooleanOptionalAction, Namespace, _SubParsersAction

from rich.console import Console

from engine.commands.progress import run_display
from engine.commands.trust import add_trust
from engine.datasets.dataset_table import DATASETS, data_root
from engine.run_spec import SETTINGS, RunSpec
from engine.setting import About, numbers
from engine.specs.checks import validate_spec
from engine.store.study import Study


def add_spec_arguments(parser: ArgumentParser) -> None:
    """One option per setting of a run, with its default from the record."""
    for setting in SETTINGS.values():
        flag, text = f"--{setting.name.replace('_', '-')}", _help(setting.about)
        if setting.is_required:
            parser.add_argument(flag, required=True, help=text)
        elif isinstance(setting.default, bool):
            parser.add_argument(flag, action=BooleanOptionalAction, default=setting.default, help=text)
        else:
            default = "" if setting.default in ("", ()) else f" (default: {setting.default})"
            parser.add_argument(flag, type=setting.kind.parse, default=setting.default, help=text + default)
    parser.add_argument(
        "--ratios",
        type=lambda words: tuple(1 - 1 / ratio for ratio in numbers(words)),
        help="the same as --sparsities, as weights before / after: 2,4,10 is 0.5,0.75,0.9",
    )


def _help(about: About) -> str:
    choices = f"; `list {about.choices}` shows all" if about.choices else ""
    unit = f", in {about.unit}" if about.unit == "pixels" else ""
    return f"{about.help}{unit}{choices}{f'; 0: {about.zero}' if about.zero else ''}"


def spec_of(options: Namespace) -> RunSpec:
    """The spec that the options describe, checked."""
    values = {name: getattr(options, name) for name in SETTINGS}
    if options.ratios:
        values["sparsities"] = options.ratios
    return validate_spec(RunSpec(**values))


def add(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add `run`."""
    parser = commands.add_parser("run", help="compute one run")
    add_spec_arguments(parser)
    parser.add_argument("--study", required=True, help="folder of the study that keeps the result")
    parser.add_argument("--data", help="root of the data sets (default: $PRUNESCOPE_DATA, or a cache folder)")
    parser.add_argument("--device", default="auto", help="cuda, mps, cpu or auto")
    add_trust(parser)
    parser.set_defaults(act=run_one)


def run_one(options: Namespace) -> None:
    """Compute a run and say how it went."""
    from engine.runs.run import run_experiment

    if options.weights:
        from engine.runs.given_weights import keep_weights

        options.weights = keep_weights(Study(options.study), options.weights)
    spec, console = spec_of(options), Console()
    if spec.flip and not DATASETS[spec.dataset].mirrors:
        console.print(f"Note: mirrored images of {spec.dataset} can change their class, as they did in the paper.")
    begun = time.monotonic()
    with run_display(spec, console) as watch:
        finished = run_experiment(spec, Study(options.study), data_root(options.data), options.device, watch)
    if not finished.computed:
        console.print(f"Run {finished.key} is there already; nothing to do.")
        return
    for note in filter(None, (finished.mended, finished.stopped, finished.warned)):
        console.print(note)
    console.print(f"Run {finished.key} finished in {time.monotonic() - begun:.0f} s; kept in {options.study}.")
