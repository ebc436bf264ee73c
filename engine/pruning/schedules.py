"""How much is cut and when: one row per schedule, and its levels."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from engine.errors import PruneScopeError
from engine.pruning.techniques import TECHNIQUES, trains_after
from engine.run_spec import RunSpec


@dataclass(frozen=True)
class PlannedLevel:
    """One level after the dense one: the share of what remains that is cut, and the sparsity that this asks for."""

    level: int
    share: float
    sparsity: float


@dataclass(frozen=True)
class ScheduleRow:
    """One schedule; `starts` says whether each level goes on from the one before or from the dense network."""

    key: str
    label: str
    help: str
    starts: Literal["before", "dense"]
    levels: Callable[[RunSpec], list[PlannedLevel]]
    settings: tuple[str, ...]


@dataclass(frozen=True)
class TreatmentRow:
    """One treatment: what becomes of the weights that remain, and its phrase in a sentence: "with restarts".

    One that `controls` rewinding takes the masks of the run that rewinds, level by level.
    """

    key: str
    label: str
    phrase: str
    help: str
    controls: bool = False


def _iterative(spec: RunSpec) -> list[PlannedLevel]:
    return [PlannedLevel(level, spec.share, 1 - (1 - spec.share) ** level) for level in range(1, spec.levels + 1)]


def _listed(spec: RunSpec) -> list[PlannedLevel]:
    return [PlannedLevel(level, sparsity, sparsity) for level, sparsity in enumerate(spec.sparsities, 1)]


SCHEDULES: dict[str, ScheduleRow] = {
    row.key: row
    for row in (
        ScheduleRow(
            "iterative",
            "Level by level",
            "Cuts the same share of what remains at every level, and trains after each.",
            "before",
            _iterative,
            ("share", "levels"),
        ),
        ScheduleRow(
            "oneshot",
            "At once",
            "Cuts the dense network at once to each listed sparsity, then trains.",
            "dense",
            _listed,
            ("sparsities",),
        ),
        ScheduleRow(
            "gradual",
            "While training",
            "Cuts little by little while training, fast at first (Zhu and Gupta's cubic schedule).",
            "dense",
            _listed,
            ("sparsities", "begin_step", "end_step", "every_steps"),
        ),
    )
}

TREATMENTS: dict[str, TreatmentRow] = {
    row.key: row
    for row in (
        TreatmentRow(
            "rewind",
            "Restart",
            "with restarts",
            "The weights that are left go back to their first values and train again; papers say rewind.",
        ),
        TreatmentRow(
            "finetune",
            "Keep training",
            "with continued training",
            "Training goes on with the weights that are left; papers say finetune.",
        ),
        TreatmentRow(
            "fresh",
            "Fresh weights",
            "with fresh weights",
            "A control of rewinding: its masks, and new random weights. Trains twice as long, for the masks.",
            controls=True,
        ),
        TreatmentRow(
            "shuffled",
            "Shuffled masks",
            "with shuffled masks",
            "A control of rewinding: its weights, and as many cut in each layer, at random. Trains twice as long.",
            controls=True,
        ),
    )
}


def schedule_settings() -> tuple[str, ...]:
    """Names of the settings that matter for some schedules only."""
    return tuple(sorted({name for row in SCHEDULES.values() for name in row.settings}))


def planned_levels(spec: RunSpec) -> list[PlannedLevel]:
    """The levels of a run after the dense one; none where its predictions were imported."""
    if not trains_after(spec.technique):
        return [PlannedLevel(1, 0.0, 0.0)]
    levels = SCHEDULES[spec.schedule].levels(spec) if spec.schedule in SCHEDULES else []
    if spec.technique in TECHNIQUES and TECHNIQUES[spec.technique].cuts == "nothing":
        return [replace(level, share=0.0, sparsity=0.0) for level in levels]
    return levels


def n_epochs_after(spec: RunSpec) -> int:
    """Epochs of training at each of the planned levels."""
    return (spec.epochs_after or spec.epochs) if trains_after(spec.technique) else 0


def gradual_sparsity(spec: RunSpec, final: float, step: int) -> float | None:
    """Sparsity that the gradual schedule asks for after this many training steps; None where nothing is cut then.

    s = final (1 - (1 - (step - begin) / (end - begin))^3), Zhu and Gupta 2017; the end itself always cuts.
    """
    if not spec.begin_step <= step <= spec.end_step:
        return None
    if (step - spec.begin_step) % spec.every_steps and step != spec.end_step:
        return None
    done = (step - spec.begin_step) / (spec.end_step - spec.begin_step)
    return final * (1 - (1 - done) ** 3)


def check_gradual(spec: RunSpec, n_steps: int) -> None:
    """Refuse a gradual schedule that training ends before."""
    epochs = n_epochs_after(spec)
    if spec.schedule == "gradual" and epochs and n_steps <= spec.end_step:
        raise PruneScopeError(
            f"The gradual schedule ends at step {spec.end_step}, but {epochs} epochs are only {n_steps} steps; "
            "train longer or lower end_step."
        )
