"""Images of test examples, kept between reruns, and data sets that are being fetched."""

import threading

import numpy as np
import streamlit as st

from engine.datasets.dataset_table import data_root
from engine.datasets.fetching import Fetching
from engine.store.images import read_images
from pages.shared.cache.catalog import Source

_STARTING = threading.Lock()


@st.cache_resource(max_entries=2, show_spinner="Reading the images …")
def carried_images(source: Source, name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """The images that the study carries under that name, and their labels; None where it carries none."""
    return read_images(source.study, name)


@st.cache_resource(show_spinner=False)
def fetches() -> dict[str, Fetching]:
    """The downloads that were begun since the server started, by data set."""
    return {}


def start_fetching(key: str) -> None:
    """Begin to fetch a data set, unless that is under way."""
    with _STARTING:
        known = fetches().get(key)
        if known is None or not known.is_running:
            fetches()[key] = Fetching(key, data_root())
