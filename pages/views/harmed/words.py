"""The Harmed examples page in sentences: how many change, how many change by nothing, and how ties are counted."""

import pandas as pd

from engine.analysis.examples.exemplars import Cut, turned
from engine.analysis.examples.unpruned_counts import Excess
from pages.shared import formats
from pages.views.harmed.gallery import Exemplars

TIES_HELP = (
    "Votes tie where two labels are most frequent: such an example changes only if no most frequent label is common "
    "to both sets. Scores tie at the edge of a top share: accuracies are then the expectation over all ways to fill "
    "it, so no draw decides. The gallery lists every example that ties."
)
ANSWER_HELP = (
    "Hooker et al. 2020 call an example whose most frequent label changes a modal compression-identified exemplar. The "
    "others are ranked by how many votes move from one label to another (their taxicab score is twice that)."
)
NOTHING_HELP = (
    "Two sets of networks never agree on every example; only sets of equally many are compared. With controls: "
    "dense against pruned networks, and dense against the same training unpruned, of the same seeds. With halves: "
    "one half of the runs unpruned, the other pruned or unpruned, averaged over splits. ±: 95 % over training runs, by "
    "exchanging controls and pruned networks in half of the runs, or of halves by a jackknife."
)


def answer_sentence(exemplars: Exemplars) -> str:
    """How many examples change their usual answer, and which way; the three counts add up; markdown."""
    modal, networks, example_set = exemplars.divergence.modal, exemplars.networks, exemplars.example_set
    labels = example_set.examples["label"].to_numpy()
    worse, better, neither = turned(
        labels, networks.before, networks.compressed, exemplars.divergence, len(example_set.classes)
    )
    of = f"{formats.count(modal.sum())} of {formats.count(len(modal))} examples ({formats.percent(modal.mean())})"
    if not modal.any():
        return f"**For none of {formats.count(len(modal))} examples do most pruned networks change their answer.**"
    return (
        f"**For {of}, most pruned networks give another answer** than most unpruned ones: {formats.count(worse)} "
        f"{_turn(worse)} wrong, {formats.count(better)} {_turn(better)} right, {formats.count(neither)} "
        f"{'is' if neither == 1 else 'are'} wrong either way."
    )


def _turn(n: int) -> str:
    return "turns" if n == 1 else "turn"


def whom_sentence(exemplars: Exemplars) -> str:
    """Which networks are compared, at which sparsity; markdown."""
    networks = exemplars.networks
    text = (
        f"{networks.words}, {formats.sparsity(networks.sparsity)} sparsity, "
        f"{formats.seeds(exemplars.divergence.n_models)}, against {networks.baseline}."
    )
    if networks.working:
        text += f" Beyond {networks.working} these networks have broken down for everybody."
    return text


def hardest_title(accuracy: pd.DataFrame, percentile: float = 99.0) -> str:
    """What the chart of accuracy shows on the most changed examples; markdown."""
    rows = accuracy.set_index(["subset", "percentile", "population"])["accuracy"]
    after, before = (rows[("taxicab", percentile, name)] for name in ("compressed", "baseline"))
    if after != after or before != before:
        return "How often networks are right where they disagree most"
    return (
        f"On the {100 - percentile:g} % they disagree about most, pruned networks are right "
        f"{formats.percent(after, 0)} of the time, unpruned ones {formats.percent(before, 0)}"
    )


def nothing_sentence(beside: tuple[Excess | None, Excess | None], n_changed: int) -> str:
    """How many examples change where nothing is pruned, by controls where they are recorded, else by halves; and how
    many more change by pruning; markdown."""
    halves, control = beside
    if control is None:
        return halves_sentence(halves) or "With one training run nothing says how many would change without pruning."
    of = "" if round(control.changed) == n_changed else f" (of {_count(control.changed)} with these runs)"
    return (
        f"Unpruned networks alone, dense and trained as long, differ on {_count(control.unpruned)}: pruning changes "
        f"**{_more(control)}**{of}{_doubt(control)}."
    )


def halves_sentence(halves: Excess | None) -> str:
    """How many examples change between halves of the seeds, unpruned or pruned; empty with one seed; markdown."""
    if halves is None:
        return ""
    sets = "training runs" if halves.n_models == 1 else f"sets of {formats.seeds(halves.n_models)}"
    spread = f" ({_count(halves.least)} to {_count(halves.most)})" if halves.n_splits > 1 else ""
    return (
        f"Between two {sets}, {_count(halves.unpruned)}{spread} change without "
        f"pruning and {_count(halves.changed)} with it: **{_more(halves)}**{_doubt(halves)}."
    )


def beside_caption(beside: tuple[Excess | None, Excess | None]) -> str:
    """What the answer does not say of unpruned networks; markdown."""
    halves, control = beside
    return halves_sentence(halves) if control is not None and halves is not None else ""


def ties_sentence(exemplars: Exemplars, cut: Cut) -> str:
    """How much the ties matter here; may be empty."""
    parts = []
    if cut.edge == 0:
        parts.append(
            "The cut reaches examples on which all networks agree: too few runs or too little change to fill it."
        )
    if exemplars.divergence.n_models < 5:
        parts.append(f"With {formats.seeds(exemplars.divergence.n_models)} votes are coarse; the paper had 30.")
    return " ".join(parts)


def ties_help(exemplars: Exemplars, cut: Cut) -> str:
    """How ties are counted, and how many there are."""
    text = f"{TIES_HELP} Here votes tie on {formats.count(exemplars.divergence.tied.sum())} examples."
    if cut.n_left_out:
        text += (
            f" {formats.count(cut.n_tied)} share the lowest score of the top {100 - cut.percentile:g} % "
            f"({cut.edge} of {2 * exemplars.divergence.n_models}); {formats.count(cut.n_tied - cut.n_left_out)} fit in."
        )
    return text


def _count(number: float) -> str:
    return formats.count(round(number))


def _more(excess: Excess) -> str:
    """The excess with half of its interval: "41 ± 30 more"."""
    half = (excess.high - excess.low) / 2
    doubt = "" if half != half else f" ± {_count(half)}"
    return f"{_count(abs(excess.excess))}{doubt} {'more' if round(excess.excess) >= 0 else 'fewer'}"


def _doubt(excess: Excess) -> str:
    if excess.low != excess.low:
        return ", with too few training runs to say how sure"
    return "" if excess.is_told else ", which cannot be told from none"
