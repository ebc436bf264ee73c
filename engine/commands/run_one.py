"""`run`: compute one run, with a line that says how far it is."""

import time
from argparse import ArgumentParser, BooleanOptionalAction, Namespace, _SubParsersAction
from dataclasses import MISSING, fields
from typing import Any

from rich.console import Console

from engine.commands.progress import run_display
from engine.datasets.dataset_table import DATASETS, data_root
from engine.run_spec import RunSpec
from engine.specs.checks import validate_spec
from engine.store.study import Study

HELP = {
    "dataset": "data set; `list datasets` shows all",
    "network": "network; `list networks` shows all",
    "technique": "pruning technique; `list techniques` shows all",
    "treatment": "rewind or finetune",
    "seed": "everything random follows from it",
    "split": "the data set's split; each has its default",
    "target": "for celeba and utkface: the attribute to predict",
    "groups": "for celeba, utkface and folder: attributes to keep as groups, with commas",
    "image_size": "side in pixels that the network sees; 0 is its own choice",
    "schedule": "iterative, oneshot or gradual",
    "share": "iterative: share of what remains that each level cuts",
    "levels": "iterative: number of levels",
    "sparsities": "oneshot, gradual: sparsities to reach, with commas",
    "begin_step": "gradual: step of the first cut",
    "end_step": "gradual: step of the last cut",
    "every_steps": "gradual: steps between cuts",
    "epochs": "epochs of training at every level",
    "epochs_after": "epochs after pruning, where they differ; 0 is the same",
    "crop": "training images are padded by so many pixels and cropped at random; 0 is off",
    "flip": "mirror training images at random",
    "validation": "share of the training split that is held out, by seed",
    "mitigation": "which trainings hold gaps between groups small; `list mitigations` shows all",
    "constraint": "what mitigation holds equal or bounded; `list constraints` shows all",
    "mitigated_group": "groups that mitigation compares: class, or a group column such as series",
    "dual_step": "how fast mitigation's multipliers rise; 0 switches the constraint off",
    "dual_decay": "how fast that step shrinks: step / (1 + decay x epochs done)",
    "tolerance": "constraint drop: points of accuracy, 0 to 1, that a group may lose beyond the mean",
    "diagnose": "measure gradient norms, eigenvalues and margins of these groups, with commas: class,series",
    "keep_scores": "keep probabilities and margins beside predictions",
    "keep_checkpoints": "keep the weights of every level",
}


def add_spec_arguments(parser: ArgumentParser) -> None:
    """One option per setting of a run, with its default from the record."""
    for f in fields(RunSpec):
        flag, text = f"--{f.name.replace('_', '-')}", HELP.get(f.name, f.name.replace("_", " "))
        kind = getattr(f.type, "__name__", "")
        if f.default is MISSING:
            parser.add_argument(flag, required=True, help=text)
        elif kind == "bool":
            parser.add_argument(flag, action=BooleanOptionalAction, default=f.default, help=text)
        elif kind == "tuple":
            parse: Any = _numbers if f.name == "sparsities" else _words
            parser.add_argument(flag, type=parse, default=(), help=text)
        else:
            parser.add_argument(flag, type=f.type, default=f.default, help=f"{text} (default: {f.default})")
    parser.add_argument(
        "--ratios",
        type=lambda words: tuple(1 - 1 / ratio for ratio in _numbers(words)),
        help="the same as --sparsities, as weights before / after: 2,4,10 is 0.5,0.75,0.9",
    )


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(map(float, text.split(",")))


def spec_of(options: Namespace) -> RunSpec:
    """The spec that the options describe, checked."""
    values = {f.name: getattr(options, f.name) for f in fields(RunSpec)}
    if options.ratios:
        values["sparsities"] = options.ratios
    return validate_spec(RunSpec(**values))


def add(commands: _SubParsersAction) -> None:
    """Add `run`."""
    parser = commands.add_parser("run", help="compute one run")
    add_spec_arguments(parser)
    parser.add_argument("--study", required=True, help="folder of the study that keeps the result")
    parser.add_argument("--data", help="root of the data sets (default: $PRUNESCOPE_DATA, or a cache folder)")
    parser.add_argument("--device", default="auto", help="cuda, mps, cpu or auto")
    parser.set_defaults(act=run_one)


def run_one(options: Namespace) -> None:
    """Compute a run and say how it went."""
    from engine.runs.run import run_experiment

    spec, console = spec_of(options), Console()
    if spec.flip and not DATASETS[spec.dataset].mirrors:
        console.print(f"Note: mirrored images of {spec.dataset} can change their class, as they did in the paper.")
    begun = time.monotonic()
    with run_display(spec, console) as watch:
        finished = run_experiment(spec, Study(options.study), data_root(options.data), options.device, watch)
    if not finished.computed:
        console.print(f"Run {finished.key} is there already; nothing to do.")
        return
    if finished.stopped:
        console.print(finished.stopped)
    console.print(f"Run {finished.key} finished in {time.monotonic() - begun:.0f} s; kept in {options.study}.")
