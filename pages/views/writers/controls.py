"""The controls of the Writers page, all in the address, and the table of members that follows from them."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np
import pandas as pd
import streamlit as st

from engine.analysis.example_columns import MANY_MEMBERS, attribute_columns
from engine.analysis.members.accuracy import member_accuracy
from engine.analysis.members.permutation import Permuted, permuted, strata
from engine.errors import PruneScopeError
from engine.pruning.schedules import TREATMENTS
from engine.pruning.techniques import TECHNIQUES
from pages.shared import bound, formats
from pages.shared.cache import catalog
from pages.shared.cache.catalog import Source
from pages.shared.cache.kept import kept
from pages.shared.cache.pairs import Asked, Pair, pair
from pages.shared.frame import Frame
from pages.shared.names import baseline_name, dataset_name, explained, group_name
from pages.shared.pickers import (
    ExampleSet,
    VariantLook,
    choose_level,
    choose_one,
    choose_variant,
    distinct,
    level_labels,
    read_examples,
    working_sparsity,
)
from pages.shared.session import candidate
from pages.shared.training_note import training_of
from pages.views.writers import words
from pages.views.writers.charts import series_colours
from pages.views.writers.words import NetworkLabel, Words

MEAN = "average of all"
VARIANT_LOOK = VariantLook(
    width=190,
    narrow=150,
    help={
        "technique": explained(TECHNIQUES, TECHNIQUES),
        "treatment": explained(TREATMENTS, TREATMENTS),
        "mitigation": "Whether training evened out the groups.",
    },
)


@dataclass(frozen=True)
class NetworkPair:
    """The predictions of the chosen network, (seeds, examples) each, and what the network is."""

    before: np.ndarray
    after: np.ndarray
    runs: tuple[str, ...]
    """The runs that said it, one per seed, and those that they are compared with."""
    level: int
    moment: NetworkLabel
    n_missing: int
    """Seeds that have no such level or nothing to compare it with."""
    working: str
    """The sparsity up to which the network works, where the chosen level lies beyond it; else empty."""
    training: str
    """What of its change since dense is training; may be empty."""
    kind: str
    """Of what it is compared with: "control" or "dense"."""


@dataclass(frozen=True)
class MemberView:
    """The members that are looked at, and by what."""

    table: pd.DataFrame
    n_left_out: int
    grouping: str
    attribute: str | None
    attributes: tuple[str, ...]
    """All of them that the members have."""
    colour: str
    series: str | None
    palette: dict[str, str]
    of: Words


def stop_with_classes(title: str, way_on: str) -> NoReturn:
    """A sentence and a way on in place of the page, with a link to the classes."""
    st.info(f"**{title}** {way_on}", icon=":material/info:")
    st.page_link("pages/class_curves.py", label="See the classes instead", icon=":material/show_chart:")
    st.stop()


def load_members(frame: Frame) -> ExampleSet:
    """The examples of the experiment; stops with a sentence where they name no members."""
    try:
        example_set = read_examples(frame)
    except PruneScopeError as error:
        stop_with_classes("The examples of these runs cannot be read.", formats.plain(error))
    example_set = kept(
        frame.source,
        "members' examples",
        example_set.name,
        lambda: replace(example_set, examples=example_set.examples.drop(columns=list(words.TAKEN), errors="ignore")),
    )
    if not example_set.member_columns:
        stop_with_classes(
            f"{formats.plain(dataset_name(example_set.spec.dataset))} does not say who made its examples.",
            f"This page needs a column of the examples with at least {MANY_MEMBERS} members, such as the writers of "
            "QMNIST. Choose such a data set on the left, or bring predictions with such a column.",
        )
    return example_set


def choose_network(frame: Frame) -> NetworkPair:
    """Technique, treatment, sparsity and seeds, and what those networks predict."""
    rows = frame.keep(catalog.levels(frame.source, frame.experiment))
    if rows.empty:
        stop_with_classes("No run is switched on.", "Choose other techniques or treatments on the left.")
    rows, names = choose_variant(rows, frame, VARIANT_LOOK)
    labels = level_labels(rows)
    if not labels:
        stop_with_classes("These runs have no pruned level.", "There is nothing to compare with the dense network yet.")
    usual = candidate.opening_level(frame, labels, max(labels))
    level = choose_level(labels, usual, "the candidate's, or at the sparsest level")
    here = rows[(rows["level"] == level).to_numpy()].sort_values("seed")
    seeds = [f"seed {seed}" for seed in here["seed"]]
    chosen = choose_one("Training runs", [MEAN, *seeds], "seed", "One run a seed; their average is steadier.", 150)
    if chosen != MEAN:
        here = here.iloc[[seeds.index(chosen)]]
    both = _predictions(frame, tuple(here["run"].astype(str)), level)
    seed = None if chosen == MEAN else int(here["seed"].iloc[0])
    network = f"{', '.join(names)}; before: {baseline_name(both.kind)}"
    moment = NetworkLabel(network, float(here["sparsity"].mean()), len(both.runs), seed)
    n_missing = 0 if seed is not None else rows["run"].nunique() - len(both.runs)
    training = training_of(frame.source, frame.experiment, rows, level)
    runs, working = (*both.runs, *both.baselines), working_sparsity(rows, level)
    return NetworkPair(both.before, both.after, runs, level, moment, n_missing, working, training, both.kind)


def choose_members(source: Source, example_set: ExampleSet, compared: NetworkPair, dark: bool) -> MemberView:
    """Grouping, attribute, colour, series and size, and the members that are left."""
    grouping = example_set.member_columns[0]
    if len(example_set.member_columns) > 1:
        columns = distinct(example_set.member_columns, _spaced)
        text = "Any column of the examples with many members."
        grouping = columns[choose_one("Members", list(columns), "grouping", text, 130)]
    table = kept(
        source,
        "members",
        (example_set.name, compared.runs, compared.level, compared.kind, grouping),
        lambda: member_accuracy(example_set.examples, compared.before, compared.after, grouping),
    )
    of = words.member_words(grouping, example_set.spec.dataset)
    attributes = distinct(attribute_columns(example_set.examples), words.attribute_label)
    attribute = None
    if attributes:
        text = "\n\n".join(f"**{formats.plain(name)}**: {meaning}" for name, meaning in words.ATTRIBUTES.values())
        attribute = attributes[choose_one("Attribute", list(attributes), "attribute", text, 130)]
    parts = distinct(words.series_columns(table), _spaced)
    colours = {**parts, **attributes} or {"nothing": ""}
    colour = colours[choose_one("Colour by", list(colours), "colour", "What the colour of a point means.", 130)]
    series = colour if colour in parts.values() else next(iter(parts.values()), None)
    palette = series_colours(table, series, dark)
    if series:
        palette = _choose_series(series, palette)
    large = table["n"].to_numpy() >= _least(table, of)
    if series:
        large &= table[series].astype(str).isin(palette).to_numpy()
    shown = table[large].reset_index(drop=True)
    if shown.empty:
        stop_with_classes(
            f"No {formats.plain(of.member)} is left.", f"Ask for fewer {of.examples} each, or show more series."
        )
    return MemberView(
        shown, len(table) - len(shown), grouping, attribute, tuple(attributes.values()), colour, series, palette, of
    )


def permuted_losses(
    frame: Frame, example_set: ExampleSet, compared: NetworkPair, shown: MemberView, loss: float
) -> Permuted:
    """What the members that are shown would lose if it did not matter who they are."""

    def made() -> Permuted:
        label = example_set.examples["label"].to_numpy()
        before, after = ((predicted == label).mean(axis=0) for predicted in (compared.before, compared.after))
        member = pd.Index(shown.table[shown.grouping]).get_indexer(pd.Index(example_set.examples[shown.grouping]))
        stratum = strata(label, example_set.examples[shown.series]) if shown.series else strata(label)
        return permuted(after - before, member, stratum, loss)

    return kept(frame.source, "dealt", (*asked_for(compared, shown), loss), made)


def asked_for(compared: NetworkPair, shown: MemberView) -> tuple[Hashable, ...]:
    """All that what is computed of the members depends on, but the attribute."""
    names = tuple(map(str, shown.table[shown.grouping]))
    return compared.runs, compared.level, compared.kind, shown.grouping, shown.series or "", names


def _choose_series(series: str, palette: dict[str, str]) -> dict[str, str]:
    names = {group_name(series, name): name for name in palette}
    chosen = bound.multiselect(
        formats.plain(_spaced(series).capitalize()),
        list(names),
        default=list(names),
        key="series",
        old={raw: name for name, raw in names.items()},
        help="Which are shown and counted; none means all.",
        width=360,
    )
    return {name: colour for name, colour in palette.items() if not chosen or group_name(series, name) in chosen}


def _least(table: pd.DataFrame, of: Words) -> int:
    largest = int(table["n"].max())
    return bound.slider(
        f"{formats.plain(of.members).capitalize()} with at least N {of.examples}",
        1,
        max(largest, 2),
        min(MANY_MEMBERS, largest),
        key="least",
        help=f"Leaves out who has fewer: a rate over few {of.examples} says little.",
        width=200,
    )


def _predictions(frame: Frame, runs: tuple[str, ...], level: int) -> Pair:
    """What the runs predict at the level, beside what they are compared with."""
    try:
        both = pair(Asked(frame.source, frame.experiment, runs, frame.baseline), level)
    except PruneScopeError as error:
        stop_with_classes("The predictions of these runs cannot be read.", formats.plain(error))
    if both is None:
        stop_with_classes(
            "The dense network of these runs is missing.", "Without level 0 there is no before to compare with."
        )
    return both


def _spaced(name: str) -> str:
    return name.replace("_", " ")
