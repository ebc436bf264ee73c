"""What a run was made with: versions, device, how sums are rounded, how long it took."""

import platform

import numpy
import torch

import engine
from engine.runs.workspace import Workspace
from engine.training.device import processor


def provenance_of(workspace: Workspace, step: str, seconds: float, stopped: str) -> dict[str, object]:
    """The facts that spec.json keeps beside the settings."""
    note = workspace.dataset.note
    return {
        "engine": engine.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "device": workspace.device.type,
        "processor": processor(workspace.device.type),
        "step": step,
        "seconds": round(seconds, 1),
        "stopped": stopped,
        **({"data": note} if note else {}),
        "data_sha256": workspace.data_digest,
    }
