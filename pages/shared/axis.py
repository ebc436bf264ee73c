"""The axis of sparsity: as a share, or as weights kept on a logarithmic scale."""

import streamlit as st

SCALES = {"linear": "sparsity", "kept": "weights kept"}


def choose_axis(usual: str) -> str:
    """Ask for one of SCALES; the address keeps it."""
    return st.segmented_control(
        "Axis",
        list(SCALES),
        default=usual,
        required=True,
        format_func=lambda scale: SCALES[scale],
        key="axis",
        bind="query-params",
        help="Most happens beyond 90 % sparsity; the log scale of the weights kept gives it room.",
    )
