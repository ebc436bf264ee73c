"""A network as steps and tensors that a loader of ten lines puts together again: torch's own operations by name."""

import json
from dataclasses import dataclass
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor, fx, nn
from torch.export import Dim, export

from engine.errors import PruneScopeError

INPUT = "images"


@dataclass(frozen=True, eq=False)
class Plan:
    """The steps in order, each a name, an operation of torch and its arguments; and the tensors that they use."""

    steps: list[list[Any]]
    tensors: dict[str, Tensor]

    def content(self) -> bytes:
        """A safetensors file; the steps stand in its metadata."""
        tensors = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in self.tensors.items()}
        return save(tensors, {"steps": json.dumps(self.steps), "format": "pt"})


def plan_of(network: nn.Module, images: Tensor) -> Plan:
    """The plan of a network that takes batches of such images, however many."""
    exported = export(network, (images,), dynamic_shapes=({0: Dim("n")},))
    held = {**exported.state_dict, **exported.constants}
    signature = exported.graph_signature
    placed = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    placed |= signature.inputs_to_lifted_tensor_constants
    names: dict[str, str] = {}
    steps: list[list[Any]] = []
    for node in exported.graph.nodes:
        if node.op == "placeholder":
            names[node.name] = placed.get(node.name, INPUT)
        elif node.op == "call_function" and node.users:
            arguments = _plain(node.args, names), _plain(node.kwargs, names)
            names[node.name] = f"step {len(steps) + 1}"  # which no tensor is called
            steps.append([names[node.name], _operation(node), *arguments])
    used = {name for step in steps for name in _named(step[2:])}
    return Plan(steps, {name: held[name] for name in sorted(set(held) & used)})


def _operation(node: fx.Node) -> str:
    target = node.target
    if not isinstance(target, torch._ops.OpOverload) or target.namespace != "aten":
        raise PruneScopeError(f"The network uses {target}, which is not one of torch's own operations.")
    return f"{target._schema.name.removeprefix('aten::')}.{target._overloadname}"


def _plain(value: Any, names: dict[str, str]) -> Any:
    """The argument as JSON: what another step or a tensor gives is {"is": its name}, a type or the like its words."""
    if isinstance(value, fx.Node):
        return {"is": names[value.name]}
    if isinstance(value, dict):
        return {key: _plain(part, names) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part, names) for part in value]
    if isinstance(value, torch.dtype | torch.memory_format | torch.layout):
        return {"torch": str(value).removeprefix("torch.")}
    if isinstance(value, torch.device):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise PruneScopeError(f"The network has an argument that cannot be written down: {value!r}.")


def _named(value: Any) -> set[str]:
    """The names of all that an argument, or a list of them, refers to."""
    if isinstance(value, dict):
        return {value["is"]} if set(value) == {"is"} else _named(list(value.values()))
    return {name for part in value for name in _named(part)} if isinstance(value, list) else set()
