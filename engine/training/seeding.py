"""Where random numbers come from: the run's seed, the level and the purpose, and nothing else.

So a level that is computed again, on any day and in any process, draws the same numbers.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Generator


def seed_of(seed: int, level: int, purpose: str) -> int:
    """A number of 63 bits that belongs to this seed, level and purpose."""
    digest = hashlib.sha256(f"{seed}/{level}/{purpose}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def generator(seed: int, level: int, purpose: str) -> Generator:
    """A generator on the CPU for this seed, level and purpose."""
    return Generator().manual_seed(seed_of(seed, level, purpose))


@contextmanager
def kept_random_state(device: torch.device) -> Iterator[None]:
    """Behind the scope, torch's own generators of the CPU and the device go on as if nothing had been drawn inside."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        state = torch.mps.get_rng_state() if device.type == "mps" else None
        try:
            yield
        finally:
            if state is not None:
                torch.mps.set_rng_state(state)


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Inside, what layers draw by themselves (first weights, dropout) follows from this seed."""
    with kept_random_state(device):
        torch.default_generator.manual_seed(seed)
        if device.type == "cuda":
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        elif device.type == "mps":
            torch.mps.manual_seed(seed)
        yield
