"""The engine trains, prunes and records; it never draws.

Its public names are loaded when they are first asked for, and torch only when something trains.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from engine.analysis.frontier.choice import Choice as Choice
    from engine.analysis.frontier.choice import choose as choose
    from engine.analysis.frontier.points import pareto_front as pareto_front
    from engine.analysis.frontier.three_objectives import pareto_front_3d as pareto_front_3d
    from engine.analysis.held_out_gap import debiased_gap as debiased_gap
    from engine.analysis.noise_floor import noise_floor as noise_floor
    from engine.api.fair_between import unfairness as unfairness
    from engine.api.gate_inputs import assert_gate as assert_gate
    from engine.api.gate_inputs import gate as gate
    from engine.api.own_data import image_dataset as image_dataset
    from engine.api.public_study import Study as Study
    from engine.api.watch import record as record
    from engine.api.watch import watch as watch
    from engine.datasets.dataset import Dataset as Dataset
    from engine.datasets.dataset import ImageSet as ImageSet
    from engine.errors import PruneScopeError as PruneScopeError
    from engine.pruning.techniques import Scored as Scored
    from engine.run_spec import RunSpec as RunSpec
    from engine.specs.registration import register_dataset as register_dataset
    from engine.specs.registration import register_network as register_network
    from engine.specs.registration import register_technique as register_technique

PUBLIC = {
    "Choice": "engine.analysis.frontier.choice",
    "Dataset": "engine.datasets.dataset",
    "ImageSet": "engine.datasets.dataset",
    "PruneScopeError": "engine.errors",
    "RunSpec": "engine.run_spec",
    "Scored": "engine.pruning.techniques",
    "Study": "engine.api.public_study",
    "assert_gate": "engine.api.gate_inputs",
    "choose": "engine.analysis.frontier.choice",
    "debiased_gap": "engine.analysis.held_out_gap",
    "gate": "engine.api.gate_inputs",
    "image_dataset": "engine.api.own_data",
    "noise_floor": "engine.analysis.noise_floor",
    "pareto_front": "engine.analysis.frontier.points",
    "pareto_front_3d": "engine.analysis.frontier.three_objectives",
    "record": "engine.api.watch",
    "register_dataset": "engine.specs.registration",
    "register_network": "engine.specs.registration",
    "register_technique": "engine.specs.registration",
    "unfairness": "engine.api.fair_between",
    "watch": "engine.api.watch",
}
"""Where each public name stands."""


def __getattr__(name: str) -> object:
    """A public name, imported now."""
    if name not in PUBLIC:
        raise AttributeError(f"module 'engine' has no attribute {name!r}")
    value = getattr(import_module(PUBLIC[name]), name)
    globals()[name] = value
    return value
