"""A run's protocol in sentences, and how it differs from the paper that it follows."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

from engine.run_spec import RunSpec
from engine.specs.preset import load_preset
from pages.shared import formats

PAPERS = {
    "iterative": ("Paganini 2020", ("paper-qmnist", "paper")),
    "oneshot": ("Good 2022", ("recall-distortion",)),
}
"""The paper that used each schedule, and the presets that hold its protocol, the closest first."""


IMPORTED = "imported"
"""Schedule of runs whose predictions came from elsewhere."""


@dataclass(frozen=True)
class Reference:
    """A paper's protocol for a network: one of its specs, and how many seeds it ran."""

    paper: str
    spec: RunSpec
    n_seeds: int
    same_data: bool


@dataclass(frozen=True)
class Setting:
    """A setting that is compared with a paper's: its name, how a value is written, and how a sentence puts it."""

    label: str
    write: Callable[[Any], str] = str
    sentence: str = "{label} {value}"

    def words(self, value: Any) -> str:
        """The setting in a sentence."""
        written = self.write(value)
        name = self.label.lower()
        if written == "1":
            name = name.replace("epochs", "epoch").replace("levels", "level")
        return f"no {name}" if written in ("no", "none") else self.sentence.format(label=name, value=written)


@dataclass(frozen=True)
class Difference:
    """One setting that differs from the paper's."""

    setting: Setting
    here: Any
    there: Any


def _pixels(value: int) -> str:
    return f"{value} pixels" if value else "none"


def _rates(values: tuple[float, ...]) -> str:
    return ", ".join(f"{100 * value:.4g} %" for value in values) or "none"


def _share(value: float) -> str:
    return formats.percent(value, 0)


COMPARED: dict[str, Setting] = {
    "split": Setting("Split"),
    "epochs": Setting("Epochs", sentence="{value} {label}"),
    "epochs_after": Setting("Epochs after the cut", lambda value: str(value or "as many"), "{value} {label}"),
    "levels": Setting("Levels", sentence="{value} {label}"),
    "share": Setting("Cut at each level", _share, "{value} {label}"),
    "sparsities": Setting("Sparsities", _rates),
    "crop": Setting("Random crop", _pixels, "{label} of {value}"),
    "flip": Setting("Random mirror", lambda value: "yes" if value else "no", "{label}"),
    "batch_size": Setting("Batch size"),
    "learning_rate": Setting("Learning rate", formats.number),
    "momentum": Setting("Momentum", formats.number),
    "weight_decay": Setting("Weight decay", formats.number),
    "validation": Setting("Held out for validation", _share, "{value} {label}"),
}
"""Settings of a spec that are compared with a paper's."""


def protocol_sentences(spec: RunSpec) -> str:
    """How the runs of an experiment were trained and pruned, for people."""
    if spec.schedule == IMPORTED:
        return "These predictions were made elsewhere; how the networks were trained and pruned is not recorded here."
    seen = [f"shifted by up to {spec.crop} pixels"] if spec.crop else []
    seen += ["mirrored at random"] if spec.flip else []
    images = f"Training images are {' and '.join(seen)}." if seen else "Training images are not augmented."
    rates = {"momentum": spec.momentum, "weight decay": spec.weight_decay}
    extra = "".join(f", {name} {formats.number(value)}" for name, value in rates.items() if value)
    return (
        f"Each network {_cutting(spec)}. It learns by stochastic gradient descent in batches of {spec.batch_size} at "
        f"learning rate {formats.number(spec.learning_rate)}{extra}. {images} {_share(spec.validation)} of the training"
        " split, drawn by seed, is held out for validation. The test split is read once per level and picks nothing."
    )


def _cutting(spec: RunSpec) -> str:
    epochs, after = _epochs(spec.epochs), _epochs(spec.epochs_after or spec.epochs)
    if spec.schedule == "iterative":
        cut = f"then loses {_share(spec.share)} of what remains and trains for {after} again"
        return f"trains for {epochs}, {cut}, {spec.levels} times over"
    if spec.schedule == "oneshot":
        return f"trains for {epochs}, is cut at once to {_rates(spec.sparsities)}, and trains for {after} after each"
    steps = f"from step {spec.begin_step:,} to {spec.end_step:,}"
    return f"trains for {epochs}, then for {after} more while it is cut {steps} to {_rates(spec.sparsities)}"


@cache
def reference(schedule: str, dataset: str, network: str) -> Reference | None:
    """The protocol of the paper that an experiment follows; None where no paper of ours used it.

    Where the paper did not use that data set, its protocol for the network.
    """
    if schedule not in PAPERS:
        return None
    paper, presets = PAPERS[schedule]
    for same_data, name in product((True, False), presets):
        specs = [spec for spec in _preset_specs(name) if spec.network == network]
        if same_data:
            specs = [spec for spec in specs if spec.dataset == dataset]
        if specs:
            n_seeds = len({spec.seed for spec in specs if spec.dataset == specs[0].dataset})
            return Reference(paper, specs[0], n_seeds, same_data)
    return None


def differences(spec: RunSpec, paper: Reference) -> list[Difference]:
    """Settings in which a run differs from the paper's; the split counts only on the paper's data."""
    return [
        Difference(setting, getattr(spec, name), getattr(paper.spec, name))
        for name, setting in COMPARED.items()
        if getattr(spec, name) != getattr(paper.spec, name) and (name != "split" or paper.same_data)
    ]


def difference_sentence(spec: RunSpec, fewest: int, most: int = 0) -> str:
    """What was done otherwise than in the paper, in one sentence; markdown.

    `fewest` and `most` are the seeds of the model that has least and of the one that has most.
    """
    if spec.schedule == IMPORTED:
        return "There is no protocol to compare with a paper's."
    if spec.diagnose or spec.mitigation != "none":
        return "Tran 2022 measured causes and mitigation on other data with other networks, so no setting is compared."
    paper = reference(spec.schedule, spec.dataset, spec.network)
    if paper is None:
        return "None of the papers used this schedule with this network."
    parts = [
        f"{found.setting.words(found.here)} (there {found.setting.write(found.there)})"
        for found in differences(spec, paper)
    ]
    if fewest < paper.n_seeds:
        seeds = f"{fewest} to {formats.seeds(most)}" if most > fewest else formats.seeds(fewest)
        parts.append(f"{seeds} so far (there {paper.n_seeds})")
    data = "" if paper.same_data else f", which did not use {formats.dataset(spec.dataset)}"
    words = f"As in {paper.paper}{data}." if not parts else f"Against {paper.paper}{data}: {', '.join(parts)}."
    return formats.plain(words)


@cache
def _preset_specs(name: str) -> tuple[RunSpec, ...]:
    return load_preset(name).specs


def _epochs(n: int) -> str:
    return "1 epoch" if n == 1 else f"{n} epochs"
