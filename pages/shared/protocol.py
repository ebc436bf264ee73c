"""A run's protocol in sentences, and how it differs from the paper that it follows."""

from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

from engine.run_spec import IDENTITY, IMPORTED, SETTINGS, RunSpec, names_in
from engine.setting import Setting
from engine.specs.preset import load_preset
from pages.shared import formats
from pages.shared.names import dataset_name

PAPERS = {
    "iterative": ("Paganini 2020", ("paper-qmnist", "paper")),
    "oneshot": ("Good 2022", ("recall-distortion",)),
    "gradual": ("Hooker 2020", ("hooker",)),
}
"""The paper that used each schedule, and the presets that hold its protocol, the closest first."""


@dataclass(frozen=True)
class Reference:
    """A paper's protocol for a network: one of its specs, and how many seeds it ran."""

    paper: str
    spec: RunSpec
    n_seeds: int
    same_data: bool


@dataclass(frozen=True)
class Difference:
    """One setting that differs from the paper's: its value here, and the paper's."""

    setting: Setting
    here: Any
    paper: Any


_SAID_FIRST = ("split", "epochs", "epochs_after", "levels", "share", "sparsities", "crop", "flip")
"""Settings that open the comparison with a paper, in this order; others follow in the order of the spec."""

_SENTENCES = {
    "epochs": "{value} {label}",
    "levels": "{value} {label}",
    "share": "{value} {label}",
    "pixels": "{label} of {value}",
}
"""How a sentence puts a setting, by its unit."""


def compared_settings() -> tuple[str, ...]:
    """Settings that are compared with a paper's: all that shape training and pruning, but for what tells runs apart."""
    names = [name for name in names_in("data", "training", "pruning") if name == "split" or name not in IDENTITY]
    return (*_SAID_FIRST, *(name for name in names if name not in _SAID_FIRST))


def written(setting: Setting, value: Any) -> str:
    """A setting's value for people, in its unit."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not value:
        return setting.about.zero or ("none" if value in ("", ()) else formats.number(value))
    if isinstance(value, tuple):
        return _rates(value) if setting.about.unit == "share" else ", ".join(map(str, value))
    if setting.about.unit == "share":
        return _share(value)
    if setting.about.unit == "pixels":
        return f"{value} pixels"
    return formats.number(value) if isinstance(value, float) else str(value)


def in_words(setting: Setting, value: Any) -> str:
    """A setting and its value in a sentence: "30 epochs", "random crop of 4 pixels", "no random mirror"."""
    text, label = written(setting, value), setting.about.label.lower()
    if text == "1":
        label = label.replace("epochs", "epoch").replace("levels", "level")
    if text in ("no", "none"):
        return f"no {label}"
    if isinstance(value, bool):
        return label
    unit = "" if isinstance(value, tuple) else setting.about.unit
    return _SENTENCES.get(unit, "{label} {value}").format(label=label, value=text)


def _rates(values: tuple[float, ...]) -> str:
    return ", ".join(f"{100 * value:.4g} %" for value in values) or "none"


def _share(value: float) -> str:
    return formats.percent(value, 0)


def protocol_sentences(spec: RunSpec) -> str:
    """How the runs of an experiment were trained and pruned, for people."""
    if spec.schedule == IMPORTED:
        return "These predictions were made elsewhere; how the networks were trained and pruned is not recorded here."
    changes = [f"shifted by up to {spec.crop} pixels"] if spec.crop else []
    changes += ["mirrored at random"] if spec.flip else []
    images = f"Training images are {' and '.join(changes) or 'not augmented'}."
    rates = {"momentum": spec.momentum, "weight decay": spec.weight_decay}
    extra = "".join(f", {name} {formats.number(value)}" for name, value in rates.items() if value)
    return (
        f"Each network {_cutting(spec)}. It learns by stochastic gradient descent in batches of {spec.batch_size} at "
        f"learning rate {formats.number(spec.learning_rate)}{extra}. {images} {_share(spec.validation)} of the training"
        " split, drawn by seed, is held out for validation. The test split is read once per level, after training."
    )


def protocol_name(spec: RunSpec) -> str:
    """A protocol in a few words: "20 cuts of 20 %, 3 epochs each"; others may share them."""
    if spec.schedule == IMPORTED:
        return "Made elsewhere"
    after = spec.epochs_after or spec.epochs
    both = _epochs(spec.epochs) if after == spec.epochs else f"{spec.epochs}+{_epochs(after)}"
    if spec.schedule == "iterative":
        cuts = "1 cut" if spec.levels == 1 else f"{spec.levels} cuts"
        text = f"{cuts} of {_share(spec.share)}, {both} each"
    else:
        ends = sorted({min(spec.sparsities, default=0.0), max(spec.sparsities, default=0.0)})
        reach = f"{'–'.join(f'{100 * end:.4g}' for end in ends)} %"
        text = f"{'One cut' if spec.schedule == 'oneshot' else 'Gradual cut'} to {reach}, {both}"
    return f"{text}, augmented" if spec.crop or spec.flip else text


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
    """Settings in which a run differs from the paper's; those of the data count only on the paper's data."""
    names = [name for name in compared_settings() if paper.same_data or SETTINGS[name].about.section != "data"]
    pairs = {name: (getattr(spec, name), getattr(paper.spec, name)) for name in names}
    return [Difference(SETTINGS[name], here, other) for name, (here, other) in pairs.items() if here != other]


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
        f"{in_words(difference.setting, difference.here)} (there {written(difference.setting, difference.paper)})"
        for difference in differences(spec, paper)
    ]
    if fewest < paper.n_seeds:
        seeds = f"{fewest} to {formats.seeds(most)}" if most > fewest else formats.seeds(fewest)
        parts.append(f"{seeds} so far (there {paper.n_seeds})")
    data = "" if paper.same_data else f", which did not use {dataset_name(spec.dataset)}"
    words = f"As in {paper.paper}{data}." if not parts else f"Against {paper.paper}{data}: {', '.join(parts)}."
    return formats.plain(words)


@cache
def _preset_specs(name: str) -> tuple[RunSpec, ...]:
    return load_preset(name).specs


def _epochs(n: int) -> str:
    return "1 epoch" if n == 1 else f"{n} epochs"
