"""PruneScope from Python: `import prunescope as ps`.

Names are loaded when they are first asked for, and torch only when something trains. `docs/python.md` shows them all.
"""

from importlib import import_module
from typing import TYPE_CHECKING

import engine
from engine import __version__ as __version__

if TYPE_CHECKING:
    from engine import Choice as Choice
    from engine import Dataset as Dataset
    from engine import ImageSet as ImageSet
    from engine import PruneScopeError as PruneScopeError
    from engine import RunSpec as RunSpec
    from engine import Scored as Scored
    from engine import Study as Study
    from engine import assert_gate as assert_gate
    from engine import choose as choose
    from engine import debiased_gap as debiased_gap
    from engine import gate as gate
    from engine import image_dataset as image_dataset
    from engine import noise_floor as noise_floor
    from engine import pareto_front as pareto_front
    from engine import pareto_front_3d as pareto_front_3d
    from engine import record as record
    from engine import register_dataset as register_dataset
    from engine import register_network as register_network
    from engine import register_technique as register_technique
    from engine import unfairness as unfairness
    from engine import watch as watch
    from prunescope import plots as plots

__all__ = [  # noqa: F822
    "Choice",
    "Dataset",
    "ImageSet",
    "PruneScopeError",
    "RunSpec",
    "Scored",
    "Study",
    "assert_gate",
    "choose",
    "debiased_gap",
    "gate",
    "image_dataset",
    "noise_floor",
    "pareto_front",
    "pareto_front_3d",
    "plots",
    "record",
    "register_dataset",
    "register_network",
    "register_technique",
    "unfairness",
    "watch",
]


def __getattr__(name: str) -> object:
    """A public name, imported now."""
    if name == "plots":
        return import_module("prunescope.plots")
    if name in __all__:
        return getattr(engine, name)
    raise AttributeError(f"module 'prunescope' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names."""
    return [*__all__, "__version__"]
