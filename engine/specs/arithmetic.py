"""How sums are to be rounded: what the environment asks for, and what a run was computed with.

`portable` gives the same on all x86-64 processors, by the fastest step of training; `eager` the same by torch's own
step, as it was before there was another; `native` is torch's step with whatever instructions the processor favours.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from engine.errors import PruneScopeError

SETTING = "PRUNESCOPE_ARITHMETIC"
PORTABLE, EAGER, NATIVE = "portable", "eager", "native"
FUSED = "fused"
"""The step of training that is compiled as a whole."""


def chosen_arithmetic() -> str:
    """What the environment asks for; portable where it says nothing."""
    arithmetic = os.environ.get(SETTING, PORTABLE)
    if arithmetic not in (PORTABLE, EAGER, NATIVE):
        raise PruneScopeError(f"{SETTING} is {arithmetic!r}; allowed are {PORTABLE}, {EAGER} and {NATIVE}.")
    return arithmetic


def recorded_step(provenance: Mapping[str, Any]) -> str:
    """The step that trained a run, and why it was torch's own where it might have been another; before it was
    recorded, it was torch's."""
    return str(provenance.get("step", EAGER))


@contextmanager
def as_recorded(provenance: Mapping[str, Any]) -> Iterator[None]:
    """Inside, runs are trained by the step that this one was, unless the environment asks for an arithmetic itself."""
    if SETTING in os.environ or recorded_step(provenance) == FUSED:
        yield
        return
    os.environ[SETTING] = EAGER
    try:
        yield
    finally:
        del os.environ[SETTING]
