"""The controls of the Writers page, all in the address, and the table of members that follows from them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import pandas as pd
import streamlit as st

from engine.analysis.members.accuracy import member_accuracy
from engine.analysis.members.permutation import Permuted
from engine.errors import PruneScopeError
from engine.run_spec import RunSpec
from engine.store.study import examples_name
from pages.shared import formats, members
from pages.shared.cache import catalog as load
from pages.shared.cache import predictions as load_predictions
from pages.shared.frame import Frame
from pages.shared.members import NetworkLabel, Words
from pages.shared.training_note import training_of
from pages.views.writers.charts import series_colours

MEAN = "mean of all"


@dataclass(frozen=True)
class WriterSet:
    """What a study knows of its examples: the table, the names of the classes, and the settings of its runs."""

    spec: RunSpec
    examples: pd.DataFrame
    class_names: dict[int, str]
    groupings: tuple[str, ...]


@dataclass(frozen=True)
class NetworkPair:
    """The predictions of the chosen network, (seeds, examples) each, and what the network is."""

    before: np.ndarray
    after: np.ndarray
    runs: tuple[str, ...]
    """The runs that said it, one per seed."""
    level: int
    moment: NetworkLabel
    n_missing: int
    """Seeds that have no such level or no dense network."""
    working: str
    """The sparsity up to which the network works, where the chosen level lies beyond it; else empty."""
    training: str
    """What of its change since dense is training; may be empty."""


@dataclass(frozen=True)
class MemberView:
    """The members that are looked at, and by what."""

    table: pd.DataFrame
    n_left_out: int
    grouping: str
    attribute: str | None
    colour: str
    series: str | None
    palette: dict[str, str]
    of: Words


def nothing(title: str, way_on: str) -> NoReturn:
    """A sentence and a way on in place of the page."""
    st.info(f"**{title}** {way_on}", icon=":material/info:")
    st.page_link("pages/class_curves.py", label="See the classes instead", icon=":material/show_chart:")
    st.stop()


def load_examples(frame: Frame) -> WriterSet:
    """The examples of the experiment; stops with a sentence where they name no members."""
    try:
        spec = load.spec(frame.source, frame.experiment)
        name = examples_name(spec)
        examples, facts = load.examples(frame.source, name), load.class_facts(frame.source, name)
        examples = examples.drop(columns=list(members.TAKEN), errors="ignore")
    except PruneScopeError as error:
        nothing("The examples of these runs cannot be read.", formats.plain(error))
    groupings = members.groupings(examples)
    if not groupings:
        nothing(
            f"{formats.plain(formats.dataset(spec.dataset))} does not say who made its examples.",
            f"This page needs a column of the examples with at least {members.MANY} members, such as the writers of "
            "QMNIST. Choose such a data set on the left, or bring predictions with such a column.",
        )
    names = dict(zip(facts["class"].astype(int), facts["name"].astype(str), strict=True))
    return WriterSet(spec, examples, names, tuple(groupings))


def choose_network(frame: Frame) -> NetworkPair:
    """Technique, treatment, sparsity and seeds, and what those networks said."""
    rows = frame.keep(load.levels(frame.source, frame.experiment))
    if rows.empty:
        nothing("No run is switched on.", "Choose other techniques or treatments on the left.")
    rows, names = _choose_kind(rows, frame.techniques)
    labels = members.level_labels(rows)
    if not labels:
        nothing("These runs have no pruned level.", "There is nothing to compare with the dense network yet.")
    level = st.select_slider(
        "Sparsity",
        list(labels),
        max(labels),
        format_func=labels.__getitem__,
        key="level",
        bind="query-params",
        help="Share of the weights that is cut. It starts at the sparsest level.",
        width=320,
    )
    here = rows[(rows["level"] == level).to_numpy()].sort_values("seed")
    seeds = [f"seed {seed}" for seed in here["seed"]]
    chosen = _pick("Seeds", [MEAN, *seeds], "seed", "A seed is a training of its own; the mean is steadier.", 130)
    if chosen != MEAN:
        here = here.iloc[[seeds.index(chosen)]]
    before, after, runs = _predictions(frame, here["run"].astype(str), int(level))
    seed = None if chosen == MEAN else int(here["seed"].iloc[0])
    moment = NetworkLabel(", ".join(names), float(here["sparsity"].mean()), len(before), seed)
    n_missing = 0 if seed is not None else rows["run"].nunique() - len(before)
    training = training_of(frame.source, frame.experiment, rows, int(level))
    return NetworkPair(before, after, runs, int(level), moment, n_missing, _working(rows, int(level)), training)


def choose_members(what: WriterSet, compared: NetworkPair, dark: bool) -> MemberView:
    """Grouping, attribute, colour, series and size, and the members that are left."""
    grouping = what.groupings[0]
    if len(what.groupings) > 1:
        columns = _named(what.groupings, _spaced)
        text = "Any column of the examples with many members."
        grouping = columns[_pick("Members", list(columns), "grouping", text, 130)]
    table = member_accuracy(what.examples, compared.before, compared.after, grouping)
    of = members.words(grouping, what.spec.dataset)
    attributes = _named(members.attributes(what.examples), members.attribute_label)
    attribute = None
    if attributes:
        text = "\n\n".join(f"**{formats.plain(name)}**: {words}" for name, words in members.ATTRIBUTES.values())
        attribute = attributes[_pick("Attribute", list(attributes), "attribute", text, 130)]
    parts = _named(members.parts(table), _spaced)
    colours = {**parts, **attributes} or {"nothing": ""}
    colour = colours[_pick("Colour by", list(colours), "colour", "What the colour of a point means.", 130)]
    series = colour if colour in parts.values() else next(iter(parts.values()), None)
    palette = series_colours(table, series, dark)
    if series:
        palette = _choose_series(series, palette)
    kept = table["n"].to_numpy() >= _least(table, of)
    if series:
        kept &= table[series].astype(str).isin(palette).to_numpy()
    shown = table[kept].reset_index(drop=True)
    if shown.empty:
        nothing(f"No {formats.plain(of.member)} is left.", f"Ask for fewer {of.examples} each, or show more series.")
    return MemberView(shown, len(table) - len(shown), grouping, attribute, colour, series, palette, of)


def permuted_losses(frame: Frame, what: WriterSet, compared: NetworkPair, shown: MemberView, loss: float) -> Permuted:
    """What the members that are shown would lose if it did not matter who they are."""
    names = pd.Index(shown.table[shown.grouping])
    label = what.examples["label"].to_numpy()
    before, after = ((said == label).mean(axis=0) for said in (compared.before, compared.after))
    asked = (frame.source, compared.runs, compared.level, shown.grouping, tuple(map(str, names)))
    member = names.get_indexer(pd.Index(what.examples[shown.grouping]))
    return load_predictions.dealt(asked, after - before, member, label, loss)


def _choose_kind(rows: pd.DataFrame, techniques: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """The rows of one technique, treatment and mitigation, and their names in a sentence."""
    there = set(rows["technique"])
    keys = _named([key for key in techniques if key in there], formats.technique)
    technique = _pick("Technique", list(keys), "technique", "One of those switched on at the left.")
    rows = rows[(rows["technique"] == keys[technique]).to_numpy()]
    keys = _named(sorted(map(str, rows["treatment"].unique()), reverse=True), formats.treatment)
    treatment = _pick("Treatment", list(keys), "treatment", "What happens to the weights that stay.", 130)
    rows = rows[(rows["treatment"] == keys[treatment]).to_numpy()]
    names = [formats.plain(technique), formats.plain(treatment).lower()]
    mitigations = sorted(map(str, rows["mitigation"].unique()), key=lambda name: (name != "none", name))
    if len(mitigations) > 1:
        mitigation = _pick("Mitigation", mitigations, "mitigation", "Whether training evened out the groups.", 130)
        rows = rows[(rows["mitigation"] == mitigation).to_numpy()]
        names.append(f"mitigation {formats.plain(mitigation)}")
    return rows, names


def _choose_series(series: str, palette: dict[str, str]) -> dict[str, str]:
    chosen = st.multiselect(
        formats.plain(_spaced(series).capitalize()),
        list(palette),
        default=list(palette),
        key="series",
        bind="query-params",
        help="Which are shown and counted; none means all.",
        width=230,
    )
    return {name: colour for name, colour in palette.items() if not chosen or name in chosen}


def _least(table: pd.DataFrame, of: Words) -> int:
    largest = int(table["n"].max())
    least = st.slider(
        f"At least so many {of.examples}",
        1,
        max(largest, 2),
        min(members.MANY, largest),
        key="least",
        bind="query-params",
        help=f"Leaves out who has fewer: a rate over few {of.examples} says little.",
        width=200,
    )
    return int(least)


def _predictions(frame: Frame, runs: Sequence[str], level: int) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """What the runs that have both levels said, dense and at the level, and which these are."""
    try:
        found = {run: load.predictions(frame.source, run) for run in runs}
    except PruneScopeError as error:
        nothing("The predictions of these runs cannot be read.", formats.plain(error))
    said = {run: one for run, one in found.items() if 0 in one[0] and level in one[0]}
    if not said:
        nothing("The dense network of these runs is missing.", "Without level 0 there is no before to compare with.")
    before, after = (np.stack([matrix[levels == at][0] for levels, matrix in said.values()]) for at in (0, level))
    return before, after, tuple(said)


def _working(rows: pd.DataFrame, level: int) -> str:
    last = members.last_working(rows)
    if last is None or level <= last:
        return ""
    return formats.sparsity(float(rows.loc[(rows["level"] == last).to_numpy(), "sparsity"].mean()))


def _pick(label: str, options: Sequence[str], key: str, text: str, width: int = 190) -> str:
    return str(st.selectbox(label, options, key=key, bind="query-params", help=text, width=width))


def _named(keys: Sequence[str], name: Callable[[str], str]) -> dict[str, str]:
    """Keys by their names, in order."""
    return {name(key): key for key in keys}


def _spaced(name: str) -> str:
    return name.replace("_", " ")
