"""Controls that pages share, all in the address: which networks are compared, and the axis of sparsity."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from engine.analysis.columns import is_mitigated
from engine.analysis.curves.working_levels import last_within, last_working
from engine.analysis.example_columns import example_ids, group_columns, member_columns
from engine.datasets.dataset_table import DATASETS
from engine.errors import PruneScopeError
from engine.run_spec import RunSpec
from engine.store.study import examples_name
from pages.shared import bound, formats
from pages.shared.cache import catalog, controls
from pages.shared.cache.kept import kept
from pages.shared.cache.pairs import Asked, pairs
from pages.shared.frame import Frame, stop_with
from pages.shared.names import baseline_name, mitigated, technique_name, treatment_name, treatment_phrase
from pages.shared.session import candidate
from pages.shared.training_note import training_of

SCALES = {"linear": "sparsity", "kept": "weights kept"}
"""The axis of sparsity: as a share, or as weights kept on a logarithmic scale."""

PICKED = {"treatment": "After each cut"}
"""What the picker of a column is called, where that is not its name."""

WITHIN = 0.01
"""Accuracy that the usual level may lose against the baseline."""


@dataclass(frozen=True, eq=False)
class ExampleSet:
    """What is known of the examples: their table's name, the table, the classes, and the settings of a run on them."""

    spec: RunSpec
    name: str
    examples: pd.DataFrame
    classes: pd.DataFrame

    @cached_property
    def class_names(self) -> dict[int, str]:
        """Names of the classes by their numbers."""
        return dict(zip(self.classes["class"].astype(int), self.classes["name"].astype(str), strict=True))

    @cached_property
    def example_ids(self) -> np.ndarray:
        """What the user calls each example; its number where the data have no names of their own."""
        return np.asarray(example_ids(self.examples))

    @cached_property
    def group_columns(self) -> list[str]:
        """Columns that part the examples into a few groups."""
        return group_columns(self.examples)

    @cached_property
    def member_columns(self) -> list[str]:
        """Columns with many members, such as writers; the one with most first."""
        return member_columns(self.examples)

    @property
    def labels_note(self) -> str:
        """Whose word the groups of people are, where the data set says so; else empty."""
        return DATASETS[self.spec.dataset].labels_note if self.spec.dataset in DATASETS else ""


@dataclass(frozen=True, eq=False)
class Populations:
    """The networks of one technique at the chosen level and their baselines, (n_runs, n_examples) each, of the same
    seeds."""

    asked: Asked
    """The runs, and what they are compared with at any level."""
    words: str
    """The technique and treatment in a sentence."""
    level: int
    sparsity: float
    by_level: pd.Series
    """Mean sparsity of each level."""
    before: np.ndarray
    """What the baselines predict: the dense networks, or those of the same training, unpruned."""
    compressed: np.ndarray
    kind: str
    """Of the baselines: "control" or "dense"."""
    n_missing: int
    """Runs left out because they lack the chosen level or a baseline for it."""
    working: str
    """Sparsity up to which the networks work at all, where the level lies beyond it; else empty."""
    training: str
    """What of their change since dense is training; may be empty."""

    @property
    def runs(self) -> tuple[str, ...]:
        """The runs, one per seed."""
        return self.asked.runs

    @property
    def baseline(self) -> str:
        """What the networks are compared with, in a sentence."""
        return baseline_name(self.kind)


@dataclass(frozen=True)
class VariantLook:
    """How the pickers of a variant look on a page: width in pixels and help, by column; those left out have neither."""

    width: int = 220
    narrow: int = 220
    """Width of treatment and mitigation."""
    help: Mapping[str, str] = field(default_factory=dict)


def choose_axis(usual: str) -> str:
    """Ask for one of SCALES."""
    return bound.segmented_control(
        "Axis",
        list(SCALES),
        default=usual,
        format_func=SCALES.__getitem__,
        key="axis",
        help="Most happens beyond 90 % sparsity; the log scale of the weights kept gives it room.",
    )


def read_examples(frame: Frame) -> ExampleSet:
    """The examples of the experiment; an error where they cannot be read."""

    def read() -> ExampleSet:
        spec = catalog.spec(frame.source, frame.experiment)
        name = examples_name(spec)
        return ExampleSet(spec, name, catalog.examples(frame.source, name), catalog.class_facts(frame.source, name))

    return kept(frame.source, "examples", frame.experiment, read)


def load_examples(frame: Frame) -> ExampleSet:
    """The examples of the experiment; stops with a sentence where they cannot be read."""
    try:
        return read_examples(frame)
    except PruneScopeError as error:
        stop_with("The examples of these runs cannot be read.", formats.plain(error))


def choose_populations(frame: Frame) -> Populations:
    """Technique, treatment and sparsity, and what those networks predict; stops where there is nothing to compare."""
    rows = kept(
        frame.source,
        "levels beside baselines",
        (frame.experiment, frame.techniques, frame.treatments, frame.baseline),
        lambda: frame.keep(controls.levels_beside_baselines(frame.source, frame.experiment, frame.baseline)),
    )
    if rows.empty:
        stop_with("No run is switched on.", "Choose other techniques or treatments on the left.")
    rows, words = choose_variant(rows, frame, VariantLook())
    labels = level_labels(rows)
    rows = rows[rows["before"].notna()]
    if not labels or rows.empty:
        stop_with(
            "These runs have no dense level and a pruned one.",
            "This page compares the two; choose another technique above or on the left.",
        )
    level = choose_level(
        labels,
        candidate.opening_level(frame, labels, last_within(rows, WITHIN) or min(labels)),
        "the candidate's, or at the sparsest level within one point of what it is compared with",
    )
    here = rows[(rows["level"] == level).to_numpy()].sort_values("seed")
    if here.empty:
        stop_with("No run with a dense level has this one.", "Choose another sparsity.")
    asked = Asked(frame.source, frame.experiment, tuple(here["run"]), frame.baseline)
    try:
        pair = pairs(asked)[level]
    except PruneScopeError as error:
        stop_with("The predictions of these runs cannot be read.", formats.plain(error))
    return Populations(
        asked=asked,
        words=", ".join(words),
        level=level,
        sparsity=float(here["sparsity"].mean()),
        by_level=rows[rows["run"].isin(asked.runs)].groupby("level")["sparsity"].mean(),
        before=pair.before,
        compressed=pair.after,
        kind=pair.kind,
        n_missing=rows["run"].nunique() - len(asked.runs),
        working=working_sparsity(rows, level),
        training=kept(
            frame.source, "training", (asked, level), lambda: training_of(frame.source, frame.experiment, rows, level)
        ),
    )


def choose_variant(rows: pd.DataFrame, frame: Frame, look: VariantLook) -> tuple[pd.DataFrame, list[str]]:
    """The rows of one technique, treatment and mitigation, and their names in a sentence; markdown.

    It opens on those of the candidate.
    """

    def pick(column: str, keys: list[str], named: Callable[[str], str]) -> tuple[pd.DataFrame, str]:
        labels = distinct(keys, named)
        chosen = choose_one(
            PICKED.get(column, column.capitalize()),
            list(labels),
            column,
            look.help.get(column),
            look.width if column == "technique" else look.narrow,
            candidate.opening_index(list(labels.values()), candidate.opening_value(frame, column)),
        )
        return rows[(rows[column] == labels[chosen]).to_numpy()], chosen

    recorded = set(map(str, rows["technique"]))
    rows, technique = pick("technique", [key for key in frame.techniques if key in recorded], technique_name)
    rows, _ = pick("treatment", sorted(set(map(str, rows["treatment"])), reverse=True), treatment_name)
    way = treatment_phrase(str(rows["treatment"].iloc[0]))
    words = [formats.plain(f"{technique} {way}" if way else technique)]
    mitigations = sorted(set(map(str, rows["mitigation"])), key=lambda name: (is_mitigated(name), name))
    if len(mitigations) > 1:
        rows, mitigation = pick("mitigation", mitigations, str)
        words += [formats.plain(mitigated(mitigation))] if is_mitigated(mitigation) else []
    return rows, words


def choose_level(labels: Mapping[int, str], usual: int, start: str) -> int:
    """One of the levels, by its sparsity; `start` says in words where the slider starts."""
    return bound.select_slider(
        "Sparsity",
        list(labels),
        usual,
        format_func=labels.__getitem__,
        key="level",
        help=f"Share of the weights that is cut. It starts at {start}.",
        width=320,
    )


def choose_one(
    label: str, options: Iterable[str], key: str, text: str | None = None, width: int = 190, index: int = 0
) -> str:
    """One of the options; `text` is the help."""
    return bound.selectbox(label, list(options), index, key=key, help=text, width=width)


def distinct(keys: Iterable[str], named: Callable[[str], str]) -> dict[str, str]:
    """Keys by their labels; a label that two share has its key beside it."""
    keys = list(keys)
    names = [named(key) for key in keys]
    return {f"{n} ({k})" if names.count(n) > 1 else n: k for n, k in zip(names, keys, strict=True)}


def level_labels(levels: pd.DataFrame) -> dict[int, str]:
    """The pruned levels by their mean sparsity, in order; the level's number where two look alike."""
    means = levels[levels["level"] > 0].groupby("level")["sparsity"].mean()
    labels = means.map(formats.sparsity)
    alike = labels.duplicated(keep=False)
    return {int(i): f"{labels[i]} (level {i})" if alike[i] else str(labels[i]) for i in labels.index}


def working_sparsity(levels: pd.DataFrame, level: int) -> str:
    """The sparsity up to which these networks work at all, where the level lies beyond it; else empty."""
    last = last_working(levels)
    if last is None or level <= last:
        return ""
    return formats.sparsity(float(levels.loc[(levels["level"] == last).to_numpy(), "sparsity"].mean()))
