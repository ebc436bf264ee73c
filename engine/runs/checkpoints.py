"""A network and what it said, as safetensors: how an unfinished run and a dense network that runs share are kept.

Each file bears its own checksum, so that a damaged one is made again and never computed with.
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
_SEAL = {"sha256": PLACEHOLDER.decode()}

Tensors = dict[str, Tensor]
"""The tensors of a network, or its masks, by name."""


def save_states(path: Path, states: dict[str, Tensors]) -> bytes:
    """Keep named sets of tensors in one file; returns the bytes."""
    tensors = {
        f"{kind}/{name}": tensor.detach().cpu().contiguous()
        for kind, state in states.items()
        for name, tensor in state.items()
    }
    content = embed_checksum(save_tensors(tensors, _SEAL))
    write_file(path, content)
    return content


def load_states(path: Path, device: torch.device) -> dict[str, Tensors] | None:
    """The sets of tensors that were kept; None where the file is absent or damaged, so that they are made again."""
    try:
        tensors = load_tensors(checked_tensors(path))
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


def save_result(path: Path, result: LevelResult, seconds: float) -> None:
    """Keep what a level came to, and how long it took."""
    values = {f.name: getattr(result, f.name) for f in fields(LevelResult) if f.name not in _ARRAYS}
    facts: dict[str, Any] = {name: value for name, value in values.items() if value != ()}
    facts["seconds"] = seconds
    arrays = {name: np.ascontiguousarray(getattr(result, name)) for name in _ARRAYS}
    everything = {**arrays, "facts": np.frombuffer(json.dumps(facts).encode(), np.uint8)}
    write_file(path, embed_checksum(save_arrays(everything, _SEAL)))


def load_result(path: Path) -> tuple[LevelResult, float] | None:
    """What a level came to and its seconds; None where the file is absent, damaged or an older engine's."""
    try:
        arrays: dict[str, Any] = load_arrays(path.read_bytes())
        facts = json.loads(arrays.pop("facts").tobytes())
        seconds = facts.pop("seconds")
        return (LevelResult(**facts, **arrays), seconds) if set(arrays) == set(_ARRAYS) else None
    except (OSError, SafetensorError, ValueError, KeyError, TypeError):
        return None
