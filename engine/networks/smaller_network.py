"""A network without what its plan leaves out, made of plain modules under their old names."""

from typing import Any

import torch
from torch import Tensor, fx, nn

from engine.networks.channel_graph import Kind
from engine.networks.channel_plan import ChannelPlan, uniform_numbers


def smaller_network(plan: ChannelPlan) -> fx.GraphModule:
    """The network of a plan, with weights of its own, in the mode of the network that was traced.

    Where a step reads fewer channels than its operand keeps for others, it selects them. Channels that it could read
    and does not, because they are the same whatever the image, are in its bias.
    """
    return _Writer(plan).network()


class _Writer:
    """Writes a plan's graph step by step, and collects the modules and tensors that the graph names."""

    def __init__(self, plan: ChannelPlan) -> None:
        self.plan, self.graph = plan, fx.Graph()
        self.parts: dict[str, Any] = {}
        self.written: dict[fx.Node, fx.Node] = {}

    def network(self) -> fx.GraphModule:
        """The module of the graph."""
        steps = self.plan.graph
        for step in steps.kinds:
            if step in self.plan.keeps:
                self._write(step)
        network = fx.GraphModule(self.parts, self.graph, "Compacted")
        network.train(steps.module.training)
        for name, module in network.named_modules():
            if name and (old := _found(steps.module, name)) is not None:
                module.training = old.training
        return network

    def _write(self, step: fx.Node) -> None:
        operands = {operand: self._operand(step, operand) for operand in step.all_input_nodes}
        new = self.written[step] = self.graph.node_copy(step, operands.__getitem__)
        if step.op in ("call_module", "get_attr"):
            self.parts[str(step.target)] = self._part(step)
        if self.plan.graph.kinds[step] is Kind.PAD:
            new.args = (new.args[0], self._widths(step))

    def _operand(self, step: fx.Node, operand: fx.Node) -> fx.Node:
        """What a step takes in the operand's place: the operand itself, some of its channels, or numbers."""
        plan = self.plan
        if (numbers := plan.numbers.get((step, operand))) is not None:
            shape = (1, -1, *[1] * (plan.graph.values[operand].dim() - 2))
            return self._tensor(f"{step.name}_numbers", numbers.view(shape))
        kept, read = plan.keeps[operand], plan.reads[step, operand]
        if bool((kept == read).all()):
            return self.written[operand]
        rows = self._tensor(f"{step.name}_reads", read[kept].nonzero().flatten())
        return self.graph.call_function(torch.index_select, (self.written[operand], 1, rows))

    def _tensor(self, name: str, tensor: Tensor) -> fx.Node:
        """A step that gives a fixed tensor."""
        self.parts[name] = tensor.to(next(iter(self.plan.graph.module.parameters())).device)
        return self.graph.get_attr(name)

    def _part(self, step: fx.Node) -> Any:
        """The module or tensor that a step names, with what it keeps."""
        steps, kept = self.plan.graph, self.plan.keeps[step]
        if step.op == "get_attr":
            owner, _, name = str(step.target).rpartition(".")
            return getattr(steps.module.get_submodule(owner), name)
        module = steps.layer(step)
        if steps.kinds[step] is Kind.NORM:
            return _smaller_norm(module, kept)
        if steps.kinds[step] is not Kind.LAYER:
            return module
        operand = step.all_input_nodes[0]
        read = self.plan.reads[step, operand]
        numbers = uniform_numbers(steps, operand).nan_to_num(0.0)
        return _smaller_layer(module, kept, read, numbers.masked_fill(read, 0.0))

    def _widths(self, step: fx.Node) -> tuple[int, ...]:
        """A padding's widths with the constant channels that it keeps."""
        widths: Any = step.args[1]
        kept, n_before = self.plan.keeps[step], widths[-2]
        n_operand = self.plan.graph.n_channels(step.all_input_nodes[0])
        return (*widths[:-2], int(kept[:n_before].sum()), int(kept[n_before + n_operand :].sum()))


def _found(network: nn.Module, name: str) -> nn.Module | None:
    try:
        return network.get_submodule(name)
    except AttributeError:
        return None


@torch.no_grad()
def _smaller_layer(layer: Any, kept: Tensor, read: Tensor, numbers: Tensor) -> nn.Module:
    """The layer with some of its outputs and inputs; `numbers` are what inputs that it does not read always are."""
    like = layer.weight
    rows, columns = kept.nonzero().flatten().to(like.device), read.nonzero().flatten().to(like.device)
    weight = like[rows]
    shift: Tensor | None = None
    if numbers.any():
        shift = weight.flatten(2).sum(2, dtype=torch.float64) if like.dim() > 2 else weight.double()
        shift = shift @ numbers.double().to(like.device)
    has_bias = layer.bias is not None or shift is not None
    names = () if isinstance(layer, nn.Linear) else ("kernel_size", "stride", "padding", "dilation", "padding_mode")
    about = {name: getattr(layer, name) for name in names} | {"bias": has_bias, "dtype": like.dtype}
    new: nn.Module = type(layer)(len(columns), len(rows), device="meta", **about).to_empty(device=like.device)
    new.get_parameter("weight").copy_(weight[:, columns])
    if has_bias:
        bias = torch.zeros(len(rows), dtype=torch.float64, device=like.device)
        bias += 0 if layer.bias is None else layer.bias[rows]
        new.get_parameter("bias").copy_(bias if shift is None else bias + shift)
    return new


@torch.no_grad()
def _smaller_norm(norm: Any, kept: Tensor) -> nn.Module:
    """The norm of some of its channels."""
    rows = kept.nonzero().flatten()
    about = {name: getattr(norm, name) for name in ("eps", "momentum", "affine", "track_running_stats")}
    new: nn.Module = type(norm)(len(rows), **about)
    smaller = {name: t if t.dim() == 0 else t[rows.to(t.device)] for name, t in norm.state_dict().items()}
    new.to(norm.running_mean.device, norm.running_mean.dtype)
    new.load_state_dict(smaller)
    return new
