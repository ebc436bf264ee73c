"""What training after a cut starts from, and the two controls of rewinding: fresh weights, and shuffled masks.

The usual questions to a "winning ticket": what is its mask worth without its weights, and its weights without its mask?
"""

from collections.abc import Mapping

import torch
from torch import Generator, Tensor

from engine.pruning.masks import Masks
from engine.pruning.techniques import TechniqueRow
from engine.run_spec import RunSpec
from engine.runs.checkpoints import Tensors
from engine.runs.workspace import Workspace
from engine.training.seeding import seed_of


def starting_weights(spec: RunSpec, level: int, workspace: Workspace, early: Tensors) -> Tensors | None:
    """The weights that training after the cut of this level starts from; None where it goes on from what remains."""
    if spec.treatment == "finetune":
        return None
    if spec.treatment == "fresh":
        return workspace.new_network(spec, seed_of(spec.seed, level, "fresh")).state_dict()
    return early


def control_masks(spec: RunSpec, technique: TechniqueRow, masks: Mapping[str, Tensor], draw: Generator) -> Masks:
    """The masks that a control takes of those of the run that rewinds: the same, or as many cut of each layer."""
    if spec.treatment != "shuffled":
        return dict(masks)
    return {name: _shuffled(mask, technique.cuts == "channels", draw) for name, mask in masks.items()}


def _shuffled(mask: Tensor, by_channel: bool, draw: Generator) -> Tensor:
    if by_channel:
        return mask[:, torch.randperm(mask.shape[1], generator=draw).to(mask.device)]
    return mask.flatten()[torch.randperm(mask.numel(), generator=draw).to(mask.device)].view_as(mask)
