"""How many runs a machine does at a time."""

import os
from dataclasses import dataclass

PER_GPU = 4
"""Runs that a GPU is expected to hold: networks this small leave one mostly idle."""


@dataclass(frozen=True)
class WorkerCount:
    """Processes that a sweep begins with, and the most that it has once the memory of the first run is known."""

    first: int
    most: int


def as_many_as_fit(device: str) -> WorkerCount:
    """On GPUs one process each, then as many as their memory holds; elsewhere one per core from the beginning."""
    n_gpus = gpu_count(device)
    most = default_workers(device)
    return WorkerCount(n_gpus, max(most, _n_cores())) if n_gpus else WorkerCount(most, most)


def default_workers(device: str) -> int:
    """One process per core on a CPU; a few per GPU."""
    import torch

    if n_gpus := gpu_count(device):
        return PER_GPU * n_gpus
    if device == "mps" or (device == "auto" and torch.backends.mps.is_available()):
        return 2
    return _n_cores()


def gpu_count(device: str) -> int:
    """GPUs that runs on this device share out among them; 0 where it is none of CUDA's."""
    import torch

    if device in ("auto", "cuda"):
        return torch.cuda.device_count() if torch.cuda.is_available() else 0
    return int(device.startswith("cuda"))


def _n_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
