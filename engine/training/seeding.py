"""Where random numbers come from: the run's seed, the level and the purpose, and nothing else.

So a level that is computed again, on any day and in any process, draws the same numbers.
"""

import hashlib

from torch import Generator


def seed_of(seed: int, level: int, purpose: str) -> int:
    """A number of 63 bits that belongs to this seed, level and purpose."""
    digest = hashlib.sha256(f"{seed}/{level}/{purpose}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def generator(seed: int, level: int, purpose: str) -> Generator:
    """A generator on the CPU for this seed, level and purpose."""
    return Generator().manual_seed(seed_of(seed, level, purpose))
