"""How many runs a machine does at a time."""

import os


def default_workers(device: str) -> int:
    """One process per core on a CPU; four per GPU, because networks this small leave one mostly idle."""
    import torch

    if device.startswith("cuda") or (device == "auto" and torch.cuda.is_available()):
        return 4 * max(1, torch.cuda.device_count())
    if device == "mps" or (device == "auto" and torch.backends.mps.is_available()):
        return 2
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
