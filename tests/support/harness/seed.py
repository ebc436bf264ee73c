"""The one seed behind whatever tests draw at random: `PRUNESCOPE_SEED=123 make test` draws otherwise, or once more."""

import os
import random

SEED = int(os.environ.get("PRUNESCOPE_SEED") or 0)
HOW_TO_REPLAY = f"random choices: seed {SEED}; PRUNESCOPE_SEED={SEED} makes the same again"


def seeded(name: str) -> random.Random:
    """Random choices of their own for whoever has this name: others draw as they like and change nothing here."""
    return random.Random(f"{SEED} {name}")
