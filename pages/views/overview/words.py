"""Red flags in words and as a table: what the Overview says of the sparsest networks that keep their accuracy."""

from collections.abc import Mapping

import pandas as pd

from engine.analysis.curves.flag_picks import by_evidence, largest_loss, sparsest_flag
from engine.analysis.curves.red_flags import NO_DENSE, NONE_WITHIN
from pages.shared import formats
from pages.shared.cache.catalog import Experiment, Source
from pages.shared.names import group_in_words, subject_name, variant_name, verb_for
from pages.shared.training_note import training_sentence
from pages.views.overview.hero import Hero

WITHIN = 0.01
"""How much accuracy may be lost for it to count as kept; `red_flags` takes the same."""

MOST_FLAGS = 5
"""Flags that stand in the open; the others fold away."""

LITTLE = 0.005
"""A loss below this is told, but not held against the model."""

NO_BREAK = "\u00a0"

HEAT = "213, 94, 0"
"""Colour of a loss in the table, as red, green, blue."""


def experiment_name(experiment: Experiment) -> str:
    """An experiment's network and data set, as in "LeNet on QMNIST"."""
    return formats.plain(subject_name(experiment.network, experiment.dataset))


def headline_sentence(flags: pd.DataFrame, experiment: Experiment, names: Mapping[int, str]) -> str:
    """How much the sparsest model that keeps the accuracy leaves out, who surely loses there, and who loses most for
    sure of all."""
    name = experiment_name(experiment)
    if (flags["reason"] == NO_DENSE).all():
        return f"**What {name} loses cannot be said**: {NO_DENSE}."
    flag = sparsest_flag(flags)
    if flag is None:
        return f"**No pruned {name} stays within 1 point of the dense network's accuracy.**"
    kept = f"{name} can lose {formats.sparsity(flag['sparsity'])} of its weights within 1 point of accuracy"
    return f"**{kept}, {_losses(flag, names)}.**{_largest_loss(flags, flag, names)}"


def hero_sentence(flags: pd.DataFrame, hero: Hero | None, experiment: Experiment, names: Mapping[int, str]) -> str:
    """The finding in at most 20 words: what is cut, what that costs all together, and whom it costs most; markdown."""
    flag, surest = sparsest_flag(flags), largest_loss(flags)
    if flag is None:
        if hero is None:
            return headline_sentence(flags, experiment, names)
        place, pays = hero.stop, hero.pays
        return (
            f"**Even the mildest cut, {formats.sparsity(pays.sparsity[place])} of the weights, costs "
            f"{formats.points_in_words(pays.total_losses[place])} overall.**"
        )
    if hero is not None and hero.tiled and hero.n_paying > hero.line.high:
        return f"**{_members_sentence(hero)}**"
    chance = surest is None or _may_be_chance(*surest)
    row, kind = (flag, "class") if surest is None else surest
    change = row["accuracy"] - row["dense_accuracy"]
    overall = f"{'costs' if change <= 0 else 'gains'} {formats.points_in_words(change)} overall"
    cut = f"Cutting {formats.share(row['sparsity'])} of the weights {overall}"
    more = round(-1000 * row[f"{kind}_change"]) > round(-1000 * change)
    if chance or not more:
        return f"**{cut}; no class or group surely loses more.**"
    return f"**{cut}, but {_costs(row, kind, names)}.**"


def _members_sentence(hero: Hero) -> str:
    """What the picture shows, where more members pay than chance explains."""
    pays, at = hero.pays, hero.stop
    total = float(pays.total_losses[at])
    return (
        f"Cutting {formats.share(pays.sparsity[at])} of weights {'costs' if total >= 0 else 'gains'} "
        f"{formats.points_in_words(total)} of accuracy, but {hero.n_paying} of {len(pays.parties)} {hero.word[1]} lose "
        f"{formats.from_points_on(hero.line.loss)}."
    )


def _costs(flag: pd.Series, kind: str, names: Mapping[int, str]) -> str:
    """What it costs whom, as in "4.0 points on class 9 (0.7 to 7.3)"."""
    who = f"on class {_who(flag, kind, names)}" if kind == "class" else f"for {_who(flag, kind, names)}"
    ends = [-100 * flag[f"{kind}_{end}"] for end in ("high", "low")]
    doubt = "one training run" if any(map(pd.isna, ends)) else " to ".join(f"{end:z.1f}" for end in ends)
    return f"{formats.points_in_words(flag[f'{kind}_change'])} {who} ({doubt})"


def _losses(flag: pd.Series, names: Mapping[int, str]) -> str:
    """The class and the group that lose for sure at the sparsest level, or that none loses much, or none for sure."""
    changes = {kind: flag[f"{kind}_change"] for kind in ("class", "group") if not pd.isna(flag[f"{kind}_change"])}
    who = " or ".join(changes) or "class"
    losers = [kind for kind, change in changes.items() if change <= -LITTLE]
    told = [_loss(flag, kind, names) for kind in losers if not _may_be_chance(flag, kind)]
    if told:
        return f"but {' and '.join(told)}"
    if losers:
        return f"and no loss of a {who} can be told from chance"
    most = min(changes.values(), default=0.0)
    return f"and no {who} loses more than {formats.points_in_words(most)}" if most < 0 else f"and no {who} loses any"


def _largest_loss(flags: pd.DataFrame, told: pd.Series, names: Mapping[int, str]) -> str:
    """The surest loss of all, where it is another model's than the one told of, and more than chance."""
    largest = largest_loss(flags)
    if largest is None or largest[0].name == told.name or _may_be_chance(*largest):
        return ""
    other, kind = largest
    model = formats.plain(variant_name(other))
    return f" **Under {model}, {_loss(other, kind, names)} at {formats.sparsity(other['sparsity'])} sparsity.**"


def detail_sentences(flags: pd.DataFrame) -> str:
    """Which model the headline speaks of; markdown."""
    if (flags["reason"] == NO_DENSE).all():
        return "Other pages show what there is."
    flag = sparsest_flag(flags)
    if flag is None:
        return "Either the first cut is too deep, or the training after it is too short."
    baseline = "of the same training without pruning" if flag["controlled"] else "of the dense network"
    return (
        f"It is {formats.plain(variant_name(flag))}, level {flag['level']}: accuracy "
        f"{formats.percent(flag['accuracy'])}, against {formats.percent(flag['dense_accuracy'])} {baseline} "
        f"(average of {formats.seeds(flag['n_seeds'])})."
    )


def detail_training(flags: pd.DataFrame, source: Source, experiment: Experiment) -> str:
    """What of that model's change since dense is training; empty where a control stands for it, or it gains little."""
    flag = sparsest_flag(flags)
    if flag is None or flag["controlled"]:
        return ""
    variant = (str(flag["technique"]), str(flag["treatment"]), str(flag["mitigation"]))
    return training_sentence(
        source, experiment, variant, int(flag["level"]), float(flag["accuracy"] - flag["dense_accuracy"])
    )


def cautions(flags: pd.DataFrame, n_classes: int) -> str:
    """What a reader of the losses should know before believing them."""
    listed = flags.dropna(subset="level")
    texts = []
    if (listed["n_seeds"] > 1).any():
        texts.append(f"± is half of a 95 % interval for all {n_classes} classes, or all groups, of a row at once.")
        texts.append("It does not cover the choice among rows, which are sorted by the loss that is at least there.")
    if listed["controlled"].any():
        texts.append("Networks that kept training are compared with one that trained as long without pruning.")
    single = int((listed["n_seeds"] == 1).sum())
    if single:
        rows = (
            "all rows have"
            if single == len(listed)
            else f"{single} of {len(listed)} rows {'have' if single > 1 else 'has'}"
        )
        texts.insert(0, f"{rows[0].upper()}{rows[1:]} one training run only, which gives no interval.")
    return " ".join(texts)


def left_out(flags: pd.DataFrame) -> list[str]:
    """For each reason, a sentence that names the models that are not in the table; markdown."""
    sentences = []
    for reason, rows in flags[flags["level"].isna()].groupby("reason"):
        models = ", ".join(variant_name(flag) for _, flag in rows.iterrows())
        why = "every pruned level loses more than 1 point" if reason == NONE_WITHIN else reason
        sentences.append(formats.plain(f"Left out because {why}: {models}."))
    return sentences


def told_and_not(flags: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The flags with a loss that is surely there, the largest first, and those whose losses may be chance; where there
    is one seed only nothing can be told, and the flag stays among the first."""
    rows = by_evidence(flags)
    chance = rows["sure"] <= 0
    return rows[~chance], rows[chance]


def flag_table(rows: pd.DataFrame, names: Mapping[int, str]) -> pd.DataFrame:
    """One row per flag, in their order; cells are markdown."""
    largest = max(-float(rows[["class_high", "group_high"]].min(axis=None)), WITHIN) if len(rows) else WITHIN
    table = pd.DataFrame(
        {
            "Technique": [formats.plain(variant_name(flag)) for _, flag in rows.iterrows()],
            "Sparsest within 1 pt": [formats.sparsity(value) for value in rows["sparsity"]],
            "Worst class": [_cell(flag, "class", names, largest) for _, flag in rows.iterrows()],
            "Worst group": [_cell(flag, "group", names, largest) for _, flag in rows.iterrows()],
            "Class gap": [formats.times(value).replace(" times", "×") for value in rows["class_gap_times"]],
            "Runs": [formats.count(n) for n in rows["n_seeds"]],
        }
    )
    return table.drop(columns="Worst group") if rows["group_change"].isna().all() else table


def _cell(flag: pd.Series, kind: str, names: Mapping[int, str], largest: float) -> str:
    """Who loses most and how much, on a background that darkens with the loss that is at least there."""
    change = flag[f"{kind}_change"]
    if pd.isna(change):
        return formats.MISSING
    high = flag[f"{kind}_high"]
    heat = 0.0 if pd.isna(high) else max(0.0, min(1.0, -high / largest)) / 2
    doubt = formats.plus_minus(flag[f"{kind}_low"], flag[f"{kind}_high"])
    shown = f"**{_who(flag, kind, names)}**: {formats.points(change)}"
    shown = f':color[{shown}]{{background="rgba({HEAT}, {heat:.2f})"}}' if heat else shown
    doubt = doubt.replace(" ", NO_BREAK)
    return f"{shown} {doubt} :gray[n{NO_BREAK}{formats.count(flag[f'{kind}_n'])}]"


def _who(flag: pd.Series, kind: str, names: Mapping[int, str]) -> str:
    if kind == "class":
        return formats.plain(names.get(int(flag["class"]), flag["class"]))
    return formats.plain(group_in_words(str(flag["grouping"]), str(flag["group"])))


def _may_be_chance(flag: pd.Series, kind: str) -> bool:
    """Whether the interval includes no loss; False where there is none."""
    return bool(flag[f"{kind}_high"] >= 0)


def _loss(flag: pd.Series, kind: str, names: Mapping[int, str]) -> str:
    """Who loses how much, as in "class 8 loses 4.1 points (2.9 to 5.3)"."""
    who = f"{'class ' if kind == 'class' else ''}{_who(flag, kind, names)}"
    ends = [-100 * flag[f"{kind}_{end}"] for end in ("high", "low")]
    doubt = "one training run" if any(map(pd.isna, ends)) else " to ".join(f"{end:z.1f}" for end in ends)
    lose = verb_for(str(flag["grouping"]), str(flag["group"]), "lose") if kind == "group" else "loses"
    return f"{who} {lose} {formats.points_in_words(flag[f'{kind}_change'])} ({doubt})"
