"""Which weights go first, and in how many bits they stay: one row per technique.

A score (`scores`) says how much a weight or an input channel matters; `masks` counts and cuts the lowest. `quantizes`
names the way of `quantization` in which each level is tested. Loads no torch, so that a menu can read the table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from engine.errors import PruneScopeError
from engine.import_path import object_name
from engine.pruning.scores import Score as Score
from engine.pruning.scores import Scored as Scored
from engine.pruning.scores import (
    balanced_importance,
    channel_independence,
    channel_norm,
    channel_uniform,
    decayed_gradient,
    magnitude,
    undecayed_gradient,
    uniform,
)
from engine.table import Table

OWN_COLOUR = "#B2182B"
"""The colour of techniques that are not ours."""


@dataclass(frozen=True)
class TechniqueRow:
    """One technique: how it is called, what it cuts, where it compares, and its score (lowest goes first).

    Networks of a technique that does not train after (`trains_after`) have one level beside the dense one. `needs_...`
    say what its score looks at beside weights: gradients, the maps that layers see, the importance for each group.
    """

    key: str
    label: str
    help: str
    cuts: Literal["weights", "channels", "nothing"]
    compares: Literal["layer", "network"]
    score: Score
    colour: str
    needs_gradient: bool = False
    needs_decay: bool = False
    needs_maps: bool = False
    needs_groups: bool = False
    quantizes: str = ""
    trains_after: bool = True

    @property
    def is_control(self) -> bool:
        """Whether its networks train on as others do and nothing else: what tells pruning from longer training."""
        return self.cuts == "nothing" and self.trains_after and not self.quantizes


_PRUNING: dict[str, TechniqueRow] = {
    row.key: row
    for row in (
        TechniqueRow(
            "global_unstructured",
            "Global magnitude",
            "Cuts the smallest weights of the whole network.",
            "weights",
            "network",
            magnitude,
            "#0072B2",
        ),
        TechniqueRow(
            "l1_unstructured",
            "Layer magnitude",
            "Cuts the smallest weights of each layer.",
            "weights",
            "layer",
            magnitude,
            "#56B4E9",
        ),
        TechniqueRow(
            "random_unstructured",
            "Layer random",
            "Cuts weights of each layer at random: a baseline.",
            "weights",
            "layer",
            uniform,
            "#999999",
        ),
        TechniqueRow(
            "l1_structured",
            "Channels by L1",
            "Cuts the input channels of each layer with the smallest sum of absolute weights.",
            "channels",
            "layer",
            channel_norm(1),
            "#D55E00",
        ),
        TechniqueRow(
            "l2_structured",
            "Channels by L2",
            "Cuts the input channels of each layer with the smallest Euclidean norm.",
            "channels",
            "layer",
            channel_norm(2),
            "#E69F00",
        ),
        TechniqueRow(
            "linf_structured",
            "Channels by L∞",
            "Cuts the input channels of each layer whose largest weight is smallest.",
            "channels",
            "layer",
            channel_norm(float("inf")),
            "#CC79A7",
        ),
        TechniqueRow(
            "random_structured",
            "Random channels",
            "Cuts input channels of each layer at random: a baseline.",
            "channels",
            "layer",
            channel_uniform,
            "#8C6D46",
        ),
        TechniqueRow(
            "gradient",
            "Gradient",
            "Cuts the weights of the whole network whose product with the decayed gradient is smallest.",
            "weights",
            "network",
            decayed_gradient,
            "#009E73",
            needs_gradient=True,
            needs_decay=True,
        ),
        TechniqueRow(
            "undecayed",
            "Undecayed gradient",
            "Like Gradient, but without the weight decay, which only measures a weight's size.",
            "weights",
            "network",
            undecayed_gradient,
            "#7A3FB5",
            needs_gradient=True,
        ),
        TechniqueRow(
            "global_random",
            "Global random",
            "Cuts weights of the whole network at random: a baseline.",
            "weights",
            "network",
            uniform,
            "#70788A",
        ),
        TechniqueRow(
            "chip",
            "Channels by CHIP",
            "Cuts input channels whose maps others can replace; by L1 where a layer sees no maps. Images stay whole.",
            "channels",
            "layer",
            channel_independence,
            "#A6611A",
            needs_maps=True,
        ),
        TechniqueRow(
            "fairgrape",
            "FairGRAPE",
            "Keeps, layer by layer, the weights that matter to each group, so that every group keeps its share.",
            "weights",
            "layer",
            balanced_importance,
            "#C51B7D",
            needs_groups=True,
        ),
    )
}

CONTROL = "unpruned"
_CONTROL = TechniqueRow(
    CONTROL,
    "No pruning",
    "Cuts nothing, and trains on as long as the others do: a control that tells pruning from longer training.",
    "nothing",
    "network",
    magnitude,
    "#1B1F24",
)

_QUANTIZING: tuple[TechniqueRow, ...] = (
    TechniqueRow(
        "int8_dynamic",
        "Int8, dynamic",
        "Cuts nothing: linear layers compute in eight bits, and each image's activations are scaled by themselves.",
        "nothing",
        "network",
        magnitude,
        "#4B6A00",
        quantizes="int8_dynamic",
        trains_after=False,
    ),
    TechniqueRow(
        "int8_static",
        "Int8, static",
        "Cuts nothing: all layers compute in eight bits, with scales fixed by 100 training images.",
        "nothing",
        "network",
        magnitude,
        "#9BAF2E",
        quantizes="int8_static",
        trains_after=False,
    ),
)


def _then(row: TechniqueRow, way: TechniqueRow, colour: str) -> TechniqueRow:
    """The row of a technique whose every level is quantized when it is tested; training stays in full precision."""
    return replace(
        row,
        key=f"{row.key}_{way.key}",
        label=f"{row.label}, {way.label[0].lower()}{way.label[1:]}",
        help=f"{row.help} What remains is then quantized: {way.help.split(': ')[1]}",
        colour=colour,
        quantizes=way.quantizes,
    )


def own_technique(
    name: str,
    score: object,
    cuts: Literal["weights", "channels"] = "weights",
    compares: Literal["layer", "network"] = "layer",
    needs_gradient: bool = False,
    label: str = "",
    help: str = "",
) -> TechniqueRow:
    """The row of a user's own technique: a function from `Scored` to how much each weight or channel matters."""
    if isinstance(score, TechniqueRow):
        return score
    if not callable(score):
        raise PruneScopeError(
            f"The technique {name!r} is {type(score).__name__}; it should be a function that scores weights."
        )
    title, text = label or object_name(name), help or "A technique of your own."
    return TechniqueRow(name, title, text, cuts, compares, score, OWN_COLOUR, needs_gradient)


TECHNIQUES: Table[TechniqueRow] = Table(
    "technique",
    (
        *_PRUNING.values(),
        _CONTROL,
        *_QUANTIZING,
        _then(_PRUNING["global_unstructured"], _QUANTIZING[0], "#003F66"),
        _then(_PRUNING["global_unstructured"], _QUANTIZING[1], "#3D7FB0"),
        _then(_PRUNING["l1_structured"], _QUANTIZING[1], "#8F3F00"),
    ),
    own_technique,
)


def trains_after(technique: str) -> bool:
    """Whether networks of this technique are trained after it; those of one that is not ours are taken to be."""
    return technique not in untrained_techniques()


def untrained_techniques() -> frozenset[str]:
    """The techniques after which nothing is trained."""
    return frozenset(key for key, row in TECHNIQUES.items() if not row.trains_after)
