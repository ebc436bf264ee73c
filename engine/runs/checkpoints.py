"""A network and what it said, as safetensors: how an unfinished run and a dense network that runs share are kept.

Each file bears its own checksum and its place, which says of what run and level it is: so one that is damaged, or was
written for another, is made again and never computed with.
"""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor, nn

from engine.specs.arithmetic import FUSED
from engine.store.files import PLACEHOLDER, checked_tensors, embed_checksum, write_file
from engine.store.run_tables import LevelResult
from engine.training.fused.step_choice import step_name

_ARRAYS = ("prediction", "probability", "margin", "loss", "validation_prediction")

Tensors = dict[str, Tensor]
"""The tensors of a network, or its masks, by name."""


def save_states(path: Path, states: dict[str, Tensors], place: str) -> None:
    """Keep named sets of tensors in one file, which says its place."""
    tensors = {
        f"{kind}/{name}": tensor.detach().cpu().contiguous()
        for kind, state in states.items()
        for name, tensor in state.items()
    }
    write_file(path, embed_checksum(save_tensors(tensors, _facts(place))))


def load_states(path: Path, device: torch.device, place: str = "") -> dict[str, Tensors] | None:
    """The sets of tensors that were kept; None where the file is absent, damaged or of another place."""
    try:
        tensors = load_tensors(checked_tensors(path, place))
    except (OSError, SafetensorError, ValueError):
        return None
    states: dict[str, Tensors] = {}
    for name, tensor in tensors.items():
        kind, _, rest = name.partition("/")
        states.setdefault(kind, {})[rest] = tensor.to(device)
    return states


def step_state(network: nn.Module) -> Tensors:
    """Which step trains the network here, to be kept beside what it came to."""
    return {"fused": torch.tensor(step_name(network) == FUSED)}


def is_own_step(states: dict[str, Tensors], network: nn.Module) -> bool:
    """Whether what was kept was trained by the step that would train it now; an older engine had torch's only."""
    fused = states.get("step", {}).get("fused")
    return (fused is not None and bool(fused)) == (step_name(network) == FUSED)


def save_result(path: Path, result: LevelResult, seconds: float, place: str) -> None:
    """Keep what a level came to, and how long it took, in a file that says its place."""
    values = {f.name: getattr(result, f.name) for f in fields(LevelResult) if f.name not in _ARRAYS}
    facts: dict[str, Any] = {name: value for name, value in values.items() if value != ()}
    facts["seconds"] = seconds
    arrays = {name: np.ascontiguousarray(getattr(result, name)) for name in _ARRAYS}
    everything = {**arrays, "facts": np.frombuffer(json.dumps(facts).encode(), np.uint8)}
    write_file(path, embed_checksum(save_arrays(everything, _facts(place))))


def load_result(path: Path, place: str) -> tuple[LevelResult, float] | None:
    """What a level came to and its seconds; None where the file is absent, damaged, of another place or engine."""
    try:
        arrays: dict[str, Any] = load_arrays(checked_tensors(path, place))
        facts = json.loads(arrays.pop("facts").tobytes())
        seconds = facts.pop("seconds")
        return (LevelResult(**facts, **arrays), seconds) if set(arrays) == set(_ARRAYS) else None
    except (OSError, SafetensorError, ValueError, KeyError, TypeError):
        return None


def _facts(place: str) -> dict[str, str]:
    """One fact for both, because safetensors writes several in any order."""
    return {"seal": f"{place} {PLACEHOLDER.decode()}"}
