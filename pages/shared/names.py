"""What things are called: data sets, networks, techniques, treatments, measures, and what is made of them.

Names are plain text unless a function says otherwise; sentences pass them through `formats.plain`, charts through
`formats.chart_text`.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import pandas as pd

from engine.analysis.binary_rates import MEASURES
from engine.analysis.columns import is_mitigated
from engine.analysis.curves.baseline import CONTROL, DENSE
from engine.analysis.unfairness import UNFAIRNESS
from engine.datasets.dataset_table import DATASETS
from engine.import_path import object_name
from engine.networks.network_table import NETWORKS
from engine.pruning.schedules import TREATMENTS
from engine.pruning.techniques import TECHNIQUES, trains_after
from engine.specs.mitigation import CONSTRAINTS, MITIGATIONS, RULES
from pages.shared import formats

Variant = tuple[str, str, str]
"""Technique, treatment and mitigation."""

BASELINE_LABELS = {CONTROL: "Same training, unpruned", DENSE: "Dense at the start"}
"""What pruned networks are compared with, as choices, in legends and in heads of columns."""

Row: TypeAlias = "Mapping[Hashable, Any] | Mapping[str, Any] | pd.Series"
"""A row of a table, by the names of its columns."""


# -- one thing of the engine's tables; what is not in its table keeps its key -----------------------------------------

UNSTATED = "unstated"
"""Treatment of imported runs whose file does not say one."""


def technique_name(key: str) -> str:
    """A technique's name."""
    return TECHNIQUES[key].label if key in TECHNIQUES else object_name(str(key))


def network_name(key: str) -> str:
    """A network's name."""
    return NETWORKS[key].label if key in NETWORKS else object_name(str(key))


def dataset_name(key: str, split: str = "") -> str:
    """A data set's name, with its split where that is not the usual one: "QMNIST (writers)"."""
    name = DATASETS[key].label if key in DATASETS else object_name(str(key))
    return name if split in ("", "official") else f"{name} ({split})"


def treatment_name(key: str) -> str:
    """A treatment's name."""
    if not is_stated(key):
        return "Treatment not stated"
    return TREATMENTS[key].label if key in TREATMENTS else str(key)


def is_stated(treatment: str) -> bool:
    """Whether it is known what became of the weights that stayed; most files from elsewhere do not say."""
    return treatment not in ("", UNSTATED)


def treatment_phrase(key: str) -> str:
    """A treatment in a sentence: "with restarts"; empty where it is not stated."""
    if not is_stated(key):
        return ""
    return TREATMENTS[key].phrase if key in TREATMENTS else f"with {key}"


def _treated(treatment: str) -> str:
    phrase = treatment_phrase(treatment)
    return f" {phrase}" if phrase else ""


def measure_name(key: str) -> str:
    """An unfairness measure's name."""
    return MEASURES[key].label if key in MEASURES else str(key)


def baseline_name(kind: str) -> str:
    """What a pruned network is compared with, in a sentence: "the same training, unpruned"."""
    return "the same training, unpruned" if kind == CONTROL else "the dense network"


def subject_name(network: str, dataset: str) -> str:
    """What was pruned, as in "LeNet on QMNIST"."""
    return f"{network_name(network)} on {dataset_name(dataset)}"


GROUP_NAMES = {
    "series": {
        **{f"hsf{number}": f"Census staff (hsf{number})" for number in (0, 1, 2, 3, 6, 7, 8)},
        "hsf4": "students (hsf4)",
    }
}
"""Names of groups that are codes in the data: NIST's collections of handwriting, by who wrote them."""

OLD_NAMES = {
    "Rewind": TREATMENTS["rewind"].label,
    "Finetune": TREATMENTS["finetune"].label,
    "Max - min": UNFAIRNESS["max_min"].label,
    "Mean - min": UNFAIRNESS["mean_min"].label,
    "Max - min of change": UNFAIRNESS["change_range"].label,
    "|tilt|": "slant",
}
"""What links of earlier versions call things, and what they are called now."""


def group_name(column: str, group: str) -> str:
    """A group of a column for people: "students (hsf4)"; as the data have it where it needs no explaining."""
    return GROUP_NAMES.get(column, {}).get(group, group)


def group_in_words(column: str, group: str) -> str:
    """A group in a sentence: "students (hsf4)", or with its column where the group alone says little: "age 3"."""
    name = group_name(column, group)
    return name if name != group else f"{column.replace('_', ' ')} {group}"


ATTRIBUTES = {
    "abs_tilt": "slant",
    "tilt": "tilt, left to right",
    "activation": "amount of ink",
    "distance": "distance from the typical image",
    "entropy": "detail (entropy)",
}
"""What attributes of images are called; others keep the names of their columns."""

QUARTERS = ("lowest quarter", "second quarter", "third quarter", "highest quarter")


def column_name(column: str) -> str:
    """A column of the examples as people say it."""
    return ATTRIBUTES.get(column, column.replace("_", " "))


def verb_for(column: str, group: str, verb: str) -> str:
    """A verb that fits a group in a sentence: "class 8 loses", "students (hsf4) lose"."""
    return verb if group_name(column, group) != group else f"{verb}s"


class Explained(Protocol):
    """A row of a table of choices: what it is called, and what it means."""

    @property
    def label(self) -> str:
        """Its name."""

    @property
    def help(self) -> str:
        """Its meaning in a sentence."""


def explained(table: Mapping[str, Explained], keys: Iterable[str]) -> str:
    """What each of these choices means, one to a paragraph, for a "?"; markdown. Those of no table are left out."""
    rows = [table[key] for key in keys if key in table]
    return "\n\n".join(f"**{row.label}**: {row.help}" for row in rows)


def arm_name(words: str) -> str:
    """An arm as people say it, with what is not usual about it: "After pruning, reweighted groups, step 0.2"."""
    arm, *rest = words.split(", ")
    labels = {key: row.label.lower() for key, row in RULES.items()}
    labels |= {key: row.label.lower() for key, row in CONSTRAINTS.items()}
    plain = [labels.get(part) or _setting_name(part) for part in rest]
    return ", ".join([MITIGATIONS[arm].label if arm in MITIGATIONS else arm, *plain])


def _setting_name(words: str) -> str:
    name, _, value = words.rpartition(" ")
    return f"step {value}" if name in ("eta", "dual step") else words


def mitigated(words: str) -> str:
    """An arm in a sentence: "mitigated after pruning (reweighted groups, step 0.2)"."""
    arm, _, rest = arm_name(words).partition(", ")
    known = arm.lower() if words.split(", ")[0] in MITIGATIONS else arm
    return f"mitigated {known}{f' ({rest})' if rest else ''}"


# -- a variant: what tells the models of one experiment apart ---------------------------------------------------------


def variant_name(row: Row) -> str:
    """Technique, treatment and mitigation of a row in a sentence: "Global magnitude with restarts"."""
    extra = f", {mitigated(str(row['mitigation']))}" if is_mitigated(row["mitigation"]) else ""
    return f"{technique_name(str(row['technique']))}{_treated(str(row['treatment']))}{extra}"


def variant_labels(variants: Sequence[Variant]) -> dict[str, Variant]:
    """The variants by names that say no more than what tells them apart."""
    differs = [len({variant[place] for variant in variants}) > 1 for place in range(3)]

    def label(technique: str, treatment: str, mitigation: str) -> str:
        words = [technique_name(technique)]
        words += [treatment_name(treatment).lower()] if differs[1] else []
        words += [f"mitigation {mitigation or 'none'}"] if differs[2] else []
        return ", ".join(words)

    return {label(*variant): variant for variant in variants}


def legend_label(technique: str, mitigation: str, treatment: str = "") -> str:
    """A variant in a chart's legend, where colour means the technique; the treatment comes last, if at all."""
    words = [
        technique_name(technique),
        _mitigated(mitigation),
        treatment_name(treatment) if is_stated(treatment) else "",
    ]
    return ", ".join(formats.chart_text(word) for word in words if word)


# -- an operating point: a variant at a level -------------------------------------------------------------------------


def point_name(point: Row) -> str:
    """An operating point in a sentence; markdown."""
    if point["level"] == 0:
        return "the dense network"
    extra = f", {formats.plain(mitigated(str(point['mitigation'])))}," if is_mitigated(point["mitigation"]) else ""
    name = formats.plain(technique_name(str(point["technique"])))
    if not trains_after(str(point["technique"])):
        return f"{name}{extra.rstrip(',')}, without cutting a weight"
    way = formats.plain(_treated(str(point["treatment"])))
    return f"{name}{way}{extra} at {formats.sparsity(point['sparsity'])} sparsity"


def point_label(point: Row) -> str:
    """An operating point in a chart."""
    if point["level"] == 0:
        return "Dense network"
    words = (technique_name(str(point["technique"])), treatment_name(str(point["treatment"])))
    return ", ".join(formats.chart_text(word) for word in (*words, _mitigated(point["mitigation"])) if word)


def point_short(point: Row) -> str:
    """An operating point in a table: "Dense", or "Global magnitude, restart"; with its mitigation, if any."""
    if point["level"] == 0:
        return technique_at(point["technique"], 0)
    extra = f", {mitigated(str(point['mitigation']))}" if is_mitigated(point["mitigation"]) else ""
    return f"{technique_name(str(point['technique']))}, {treatment_name(str(point['treatment'])).lower()}{extra}"


def point_with_level(point: Row) -> str:
    """An operating point where several of its variant are told apart: "Global magnitude, restart, level 3"."""
    return "the dense network" if point["level"] == 0 else f"{point_short(point)}, level {point['level']}"


def technique_at(key: str, level: int) -> str:
    """A technique's name at a level; at level 0 it has not pruned yet: "Dense"."""
    return technique_name(str(key)) if level else "Dense"


def point_hovers(points: pd.DataFrame, measure: str, worst: pd.DataFrame, group: str = "class") -> list[str]:
    """What hover says of each operating point: variant, level, sparsity, accuracy, unfairness, worst class, seeds.

    `worst` has the columns point, name and accuracy of the class, or `group` of another kind, with the lowest accuracy.
    """
    worst_of = dict(zip(worst["point"], zip(worst["name"], worst["accuracy"], strict=True), strict=True))
    columns = ("point", "technique", "treatment", "mitigation", "level", "sparsity", "accuracy", "accuracy_sd")
    values = zip(*(points[name].tolist() for name in (*columns, measure, "n_seeds")), strict=True)
    rows = (dict(zip((*columns, measure, "n_seeds"), row, strict=True)) for row in values)
    return ["<br>".join(_hover_lines(row, measure, worst_of.get(row["point"]), group)) for row in rows]


def _hover_lines(row: Mapping[str, Any], measure: str, worst: tuple[str, float] | None, group: str) -> list[str]:
    several = row["n_seeds"] > 1
    lines = [
        f"<b>{point_label(row)}</b>",
        f"level {row['level']}, sparsity {formats.sparsity(row['sparsity'])}",
        f"accuracy {formats.percent(row['accuracy'])}"
        + (f" ± {100 * row['accuracy_sd']:.1f} between runs" if several else ""),
        f"{measure_name(measure)} {formats.unfairness(row[measure], measure)}",
    ]
    if worst is not None:
        lines.append(f"worst {group} {formats.chart_text(worst[0])}: {formats.percent(worst[1])}")
    return [*lines, formats.seeds(row["n_seeds"])]


def _mitigated(mitigation: str) -> str:
    return mitigated(mitigation) if is_mitigated(mitigation) else ""
