"""What crosses the engine's borders: the settings of a run, its key, and progress.

Frozen dataclasses only; nothing here reads files or loads torch.

To add a setting, add one field to `RunSpec`: its name, its type, a default that changes nothing (so that the keys of
runs that exist stay), and in `About` its label, help, section, range or table of choices, and unit. Checks, presets,
the command line, the words of a protocol, the comparison with the papers, and which runs share a dense network follow
from the field; what it does is up to the module that reads it. Fields keep their order: the first are positional.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from engine.errors import PruneScopeError
from engine.setting import BELOW_ONE, COUNT, POSITIVE, SHARE, About, Range, Section, Setting, setting, settings_of

SCHEMA = 1
"""Version of every file of a study; raised when the meaning of a column changes."""

IMPORTED = "imported"
"""Schedule of runs whose predictions came from elsewhere."""


@dataclass(frozen=True)
class RunSpec:
    """Settings of one run: everything that its result depends on, and nothing else."""

    dataset: str = field(
        metadata=About("Data set", "data set that the networks learn", "data", choices="datasets").metadata
    )
    network: str = field(
        metadata=About("Network", "network that is trained and pruned", "training", choices="networks").metadata
    )
    technique: str = field(
        metadata=About("Technique", "what decides which weights are cut", "pruning", choices="techniques").metadata
    )
    treatment: str = setting(
        "rewind", About("Treatment", "what becomes of the weights that remain", "pruning", choices="treatments")
    )
    seed: int = setting(0, About("Seed", "everything random follows from it", "training", COUNT))
    split: str = setting("", About("Split", "the data set's split; each has its default", "data"))
    target: str = setting("", About("Target", "for celeba and utkface: the attribute to predict", "data"))
    groups: tuple[str, ...] = setting(
        (), About("Groups", "for celeba, utkface and folder: attributes to keep as groups, with commas", "data")
    )
    image_size: int = setting(
        0, About("Image size", "side that the network sees", "data", COUNT, "pixels", zero="the network's own")
    )
    schedule: str = setting("iterative", About("Schedule", "how much is cut and when", "pruning", choices="schedules"))
    share: float = setting(
        0.2,
        About("Cut at each level", "iterative: share of what remains that each level cuts", "pruning", SHARE, "share"),
    )
    levels: int = setting(20, About("Levels", "iterative: number of levels", "pruning", Range(1, 1000), "levels"))
    sparsities: tuple[float, ...] = setting(
        (), About("Sparsities", "oneshot, gradual: sparsities to reach, with commas", "pruning", SHARE, "share")
    )
    begin_step: int = setting(1000, About("First cut", "gradual: step of the first cut", "pruning", COUNT, "steps"))
    end_step: int = setting(9000, About("Last cut", "gradual: step of the last cut", "pruning", COUNT, "steps"))
    every_steps: int = setting(
        500, About("Steps between cuts", "gradual: steps between cuts", "pruning", POSITIVE, "steps")
    )
    epochs: int = setting(30, About("Epochs", "epochs of training at every level", "training", POSITIVE, "epochs"))
    epochs_after: int = setting(
        0,
        About(
            "Epochs after the cut",
            "epochs after each cut, where they differ",
            "pruning",
            COUNT,
            "epochs",
            zero="as many",
        ),
    )
    batch_size: int = setting(32, About("Batch size", "images in a batch of training", "training", POSITIVE, "images"))
    learning_rate: float = setting(0.01, About("Learning rate", "step of the optimiser", "training", POSITIVE))
    momentum: float = setting(
        0.0, About("Momentum", "share of the last step that the next one keeps", "training", BELOW_ONE)
    )
    weight_decay: float = setting(0.0, About("Weight decay", "pull of the weights towards 0", "training", COUNT))
    crop: int = setting(
        0,
        About(
            "Random crop",
            "training images are padded by so much and cropped at random",
            "training",
            Range(0, 32),
            "pixels",
            zero="none",
        ),
    )
    flip: bool = setting(False, About("Random mirror", "mirror training images at random", "training"))
    validation: float = setting(
        0.2,
        About(
            "Held out for validation",
            "share of the training split that is held out, by seed",
            "training",
            SHARE,
            "share",
        ),
    )
    mitigation: str = setting(
        "none",
        About("Mitigation", "which trainings hold gaps between groups small", "mitigation", choices="mitigations"),
    )
    constraint: str = setting(
        "loss", About("Constraint", "what mitigation holds equal or bounded", "mitigation", choices="constraints")
    )
    mitigated_group: str = setting(
        "class",
        About(
            "Groups compared", "groups that mitigation compares: class, or a group column such as series", "mitigation"
        ),
    )
    dual_step: float = setting(
        0.03,
        About(
            "Step of the multipliers",
            "how fast mitigation's multipliers rise; 0 switches the constraint off",
            "mitigation",
            COUNT,
        ),
    )
    dual_decay: float = setting(
        0.0,
        About(
            "Decay of that step", "how fast that step shrinks: step / (1 + decay x epochs done)", "mitigation", COUNT
        ),
    )
    tolerance: float = setting(
        0.01,
        About(
            "Tolerance",
            "constraint drop: points of accuracy, 0 to 1, that a group may lose beyond the mean",
            "mitigation",
            BELOW_ONE,
            "share",
        ),
    )
    mitigation_rule: str = setting(
        "lagrangian", About("Rule", "how mitigation weighs the groups", "mitigation", choices="mitigation_rules")
    )
    eta: float = setting(
        0.1,
        About(
            "Step of the group weights",
            "rules reweight and worst: how fast the groups' weights move",
            "mitigation",
            COUNT,
        ),
    )
    replay: int = setting(
        0,
        About(
            "Replay buffer",
            "constraint drop: each group is judged by so many of its latest examples",
            "mitigation",
            COUNT,
            "images",
            zero="by a running mean over batches",
        ),
    )
    diagnose: tuple[str, ...] = setting(
        (),
        About(
            "Groups to diagnose",
            "measure gradient norms, eigenvalues and margins of these groups, with commas: class,series",
            "record",
        ),
    )
    keep_scores: bool = setting(
        True, About("Keep scores", "keep probabilities and margins beside predictions", "record")
    )
    keep_checkpoints: bool = setting(False, About("Keep checkpoints", "keep the weights of every level", "record"))
    rate_schedule: str = setting(
        "constant",
        About(
            "Rate schedule", "how the learning rate falls within each training", "training", choices="rate_schedules"
        ),
    )
    kept_epoch: str = setting(
        "last", About("Epoch kept", "epoch whose weights each training leaves", "training", choices="kept_epochs")
    )
    imbalance: int = setting(
        1,
        About(
            "Long tail",
            "how many times as often as the rarest class the most frequent one is trained on, the others in between; "
            "1 leaves the data as they are",
            "data",
            Range(1),
        ),
    )
    rewind_to: int = setting(
        0,
        About(
            "Rewind to",
            "rewind: step of the dense training whose weights come back; other treatments take no notice",
            "pruning",
            COUNT,
            "steps",
            zero="the first weights",
        ),
    )
    balanced_group: str = setting(
        "",
        About(
            "Groups kept in balance",
            "fairgrape: class, or a group column such as series; other techniques take no notice, so that all runs of "
            "one experiment can say the same",
            "pruning",
        ),
    )
    precision: str = setting(
        "full", About("Precision", "numbers that training computes with", "training", choices="precisions")
    )
    weights: str = setting(
        "",
        About(
            "Given weights",
            "a trained network's state_dict (safetensors), which stands in the place of the dense training",
            "training",
        ),
    )
    optimizer: str = setting(
        "sgd", About("Optimiser", "how gradients change the weights", "training", choices="optimizers")
    )

    @cached_property
    def key(self) -> str:
        """Name of the run: a hash of the settings that differ from their defaults."""
        return digest(settings(self))


SETTINGS: dict[str, Setting] = settings_of(RunSpec)
"""All settings of a run by name, in the order of the fields."""

IDENTITY = ("dataset", "split", "network", "technique", "treatment", "mitigation", "schedule", "seed")
"""Settings that stand as columns of their own in every table of many runs, in the order of the columns."""

DEFAULTS: dict[str, Any] = {"technique": "none"} | {
    name: item.default for name, item in SETTINGS.items() if not item.is_required
}
"""What a setting is where nobody says it; the technique of a network that is not pruned is "none"."""
_NO_DEFAULT = object()


def names_in(*sections: Section) -> tuple[str, ...]:
    """Names of the settings in these sections."""
    return tuple(name for name, item in SETTINGS.items() if item.about.section in sections)


def settings(spec: RunSpec) -> dict[str, Any]:
    """The settings that differ from their defaults, in JSON's types."""
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name in SETTINGS
        if (value := getattr(spec, name)) != DEFAULTS.get(name, _NO_DEFAULT)
    }


def spec_from_settings(values: dict[str, Any]) -> RunSpec:
    """The spec that `settings` wrote, with an unknown setting refused."""
    unknown = sorted(set(values).difference(SETTINGS))
    if unknown:
        raise PruneScopeError(f"Unknown setting {unknown[0]!r}; allowed are {', '.join(sorted(SETTINGS))}.")
    plain: dict[str, Any] = {n: tuple(value) if isinstance(value, list) else value for n, value in values.items()}
    return RunSpec(**({"technique": DEFAULTS["technique"]} | plain))


def digest(values: dict[str, Any]) -> str:
    """Twelve hexadecimal digits that stand for the values."""
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Progress:
    """What a run is doing now; `accuracy` is that of the last finished level, on validation images."""

    run: str
    level: int
    n_levels: int
    epoch: int
    n_epochs: int
    accuracy: float = float("nan")


Watcher = Callable[[Progress], None]
