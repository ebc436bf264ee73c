"""How much of a GPU a run takes, measured on the first, and how many fit beside each other."""

from dataclasses import dataclass

CONTEXT_BYTES = 600 * 2**20
"""What CUDA and its libraries hold for a process, which torch does not count."""
FILLED = 0.9
"""Part of what is free that more runs may take: the peaks of later levels differ a little from those of the first."""


@dataclass(frozen=True)
class Memory:
    """What one process took of its GPU at most, and what is free beside it, in bytes."""

    taken: int
    free: int

    @property
    def n_runs(self) -> int:
        """Runs that fit on such a GPU, this one among them."""
        return 1 + int(FILLED * max(0, self.free) / max(1, self.taken))


def measured_memory(device: str) -> Memory | None:
    """What this process has taken of its GPU so far; None where it does not compute on one."""
    import torch

    if device.split(":")[0] not in ("auto", "cuda") or not torch.cuda.is_available():
        return None
    where = torch.device("cuda" if device == "auto" else device)
    free, _ = torch.cuda.mem_get_info(where)
    return Memory(torch.cuda.max_memory_reserved(where) + CONTEXT_BYTES, free)
