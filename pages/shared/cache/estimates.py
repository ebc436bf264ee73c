"""How long sweeps would take on this machine: measured by a child, one at a time, kept for who asks again."""

import threading

import streamlit as st

from engine.jobs.job_estimate import Estimating
from engine.run_spec import RunSpec

MOST = 50
_STARTING = threading.Lock()


@st.cache_resource(show_spinner=False)
def _estimates() -> dict[tuple[str, ...], Estimating]:
    return {}


def estimating(specs: tuple[RunSpec, ...], data: str, workers: int) -> Estimating:
    """The estimate of these runs, begun now unless it was before; one that measures for others is ended."""
    asked = (data, str(workers), *(spec.key for spec in specs))
    with _STARTING:
        known = _estimates()
        if asked not in known:
            for other in [key for key, one in known.items() if one.is_running]:
                known.pop(other).end()
            while len(known) >= MOST:
                known.pop(next(iter(known)))
            known[asked] = Estimating(specs, data, workers)
        return known[asked]


def end_estimates() -> None:
    """Measure no further: something is about to compute."""
    with _STARTING:
        for one in _estimates().values():
            if one.is_running:
                one.end()
