"""The candidate beside a second one: numbers, group by group, and the examples that they answer differently."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from engine.analysis.columns import CLASS, VARIANT
from engine.analysis.examples.exemplars import votes
from engine.errors import PruneScopeError
from pages.shared import bound, formats
from pages.shared.body import part
from pages.shared.cache import catalog
from pages.shared.cache.between import Between, example_columns
from pages.shared.cache.kept import kept
from pages.shared.cache.points import group_rows
from pages.shared.frame import Frame
from pages.shared.layout import show_chart
from pages.shared.names import point_label
from pages.shared.session import candidate
from pages.shared.session.candidate import Candidate, candidate_name
from pages.views.frontier.chosen.comparison_chart import pair_chart
from pages.views.frontier.words import between_name

MOST_EXAMPLES = 200


@dataclass(frozen=True, eq=False)
class Differing:
    """The examples that two networks answer differently, and how many of the test set they are."""

    table: pd.DataFrame
    """Those that differ most first: example, label, and of each of the two its usual answer and in how many seeds it is
    right."""
    n_right: tuple[int, int]
    """Of the examples, those that the first has right more often, and the second."""
    n_examples: int
    n_seeds: int


def show_comparison(frame: Frame) -> None:
    """The two candidates side by side, where two are pinned."""
    first, second = (candidate.pinned(frame, which) for which in candidate.KEYS)
    if first is None or second is None:
        return
    if first.point == second.point:
        st.caption("The candidate is compared with itself: open another network's card and compare that.")
        return
    with st.container(border=True, key="comparison"):
        st.markdown("## The candidate beside the second one")
        st.markdown(comparison_sentence(first, second))
        _show_groups(frame, first, second)
        folded = st.expander("Examples that they answer differently", key="differing", on_change="rerun")
        if folded.open:
            with folded:
                _show_examples(frame, first, second)


@part
def _show_groups(frame: Frame, first: Candidate, second: Candidate) -> None:
    """Accuracy of each class or group under both."""
    groupings = [(CLASS,), *((name,) for name in example_columns(frame.source, frame.experiment).groups)]
    names = {between_name(columns): columns for columns in groupings}
    chosen = bound.selectbox("Compare", list(names), key="by", help="Class by class, or group by group.", width=200)
    try:
        table = pair_table(frame, first, second, names[chosen])
    except PruneScopeError as error:
        st.info(f"**These groups cannot be read.** {formats.plain(error)}", icon=":material/info:")
        return
    show_chart(
        pair_chart(table, (point_label(first.row), point_label(second.row)), frame.dark),
        "compared",
        f"Accuracy of each of the {chosen.lower()} under the candidate and the second one.",
        table,
        caption="Where the second one does worst against the candidate is on top; in brackets, test examples.",
    )


def pair_table(frame: Frame, first: Candidate, second: Candidate, columns: tuple[str, ...]) -> pd.DataFrame:
    """Each group under both, the second's largest loss first: name, n, first, second, change."""
    between = Between(frame.source, frame.experiment, columns, baseline=frame.baseline)
    one, other = (group_rows(between, which.point, frame.baseline) for which in (first, second))
    table = one[["name", "n", "accuracy"]].merge(other[["name", "accuracy"]], on="name", suffixes=("_first", "_second"))
    table.columns = pd.Index(["name", "n", "first", "second"])
    return table.assign(change=table["second"] - table["first"]).sort_values("change", kind="stable", ignore_index=True)


def comparison_sentence(first: Candidate, second: Candidate) -> str:
    """What the second one has more or less of than the candidate; markdown."""
    more = "more" if second.accuracy >= first.accuracy else "less"
    accuracy = formats.points(abs(second.accuracy - first.accuracy), sign=False)
    gap = formats.unfairness(abs(second.gap - first.gap), candidate.GAP)
    wider = "wider" if second.gap >= first.gap else "narrower"
    sparser = "more" if second.sparsity >= first.sparsity else "less"
    sparsity = formats.points(abs(second.sparsity - first.sparsity), 2, sign=False)
    return (
        f"**{candidate_name(second)}** is {accuracy} {more} accurate than **{candidate_name(first)}**, its gap between "
        f"classes is {gap} {wider}, and it is {sparsity} {sparser} sparse."
    )


def _show_examples(frame: Frame, first: Candidate, second: Candidate) -> None:
    """The examples that the two answer differently."""
    key = (frame.experiment, first.point, second.point)
    try:
        found = kept(frame.source, "differing", key, lambda: differing(frame, first, second))
    except PruneScopeError as error:
        st.info(f"**The predictions cannot be read.** {formats.plain(error)}", icon=":material/info:")
        return
    if found is None:
        st.info(
            "**The two have no training run in common.** Their examples cannot be compared.", icon=":material/info:"
        )
        return
    gained, lost = found.n_right[1], found.n_right[0]
    st.markdown(
        f"Of {formats.count(found.n_examples)} test examples the second one has {formats.count(gained)} right more "
        f"often and {formats.count(lost)} less often, over {formats.seeds(found.n_seeds)}."
    )
    st.dataframe(found.table, hide_index=True, alt="Examples that the two networks answer differently.")
    if len(found.table) == MOST_EXAMPLES:
        st.caption(f"The {MOST_EXAMPLES} that differ most.")


def differing(frame: Frame, first: Candidate, second: Candidate) -> Differing | None:
    """The examples that two networks answer differently, seed by seed; None where they share no seed."""
    levels = catalog.levels(frame.source, frame.experiment)
    runs = [_runs(levels, one) for one in (first, second)]
    seeds = sorted(set(runs[0]) & set(runs[1]))
    if not seeds:
        return None
    name = catalog.example_set(frame.source, frame.experiment)
    label, names = catalog.examples(frame.source, name)["label"].to_numpy(), frame.class_names
    said = [
        np.stack([_answers(frame, by_seed[seed], one.level) for seed in seeds])
        for by_seed, one in zip(runs, (first, second), strict=True)
    ]
    right = [(answers == label).sum(axis=0) for answers in said]
    n_classes = int(max(label.max(), *(answers.max() for answers in said))) + 1
    usual = [votes(answers, n_classes).argmax(axis=1) for answers in said]
    change = right[1] - right[0]
    differs = np.flatnonzero(change | (usual[0] != usual[1]))
    at = differs[np.lexsort((differs, -np.abs(change[differs])))][:MOST_EXAMPLES]

    def named(numbers: np.ndarray) -> list[str]:
        return [names.get(int(number), str(number)) for number in numbers[at]]

    table = {
        "example": at,
        "label": named(label),
        "candidate says": named(usual[0]),
        "second says": named(usual[1]),
        "candidate right": [f"{n} of {len(seeds)}" for n in right[0][at]],
        "second right": [f"{n} of {len(seeds)}" for n in right[1][at]],
    }
    counts = int((change < 0).sum()), int((change > 0).sum())
    return Differing(pd.DataFrame(table), counts, len(label), len(seeds))


def _runs(levels: pd.DataFrame, one: Candidate) -> dict[int, str]:
    """The runs of a candidate by their seeds."""
    same = np.array(levels["level"] == one.level)
    for name, value in zip(VARIANT, one.variant, strict=True):
        same &= np.array(levels[name] == value)
    rows = levels[same]
    return dict(zip(rows["seed"].astype(int).tolist(), rows["run"].astype(str).tolist(), strict=True))


def _answers(frame: Frame, run: str, level: int) -> np.ndarray:
    levels, predicted = catalog.predictions(frame.source, run)
    answers: np.ndarray = predicted[np.flatnonzero(levels == level)[0]]
    return answers
