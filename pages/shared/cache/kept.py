"""Tables and sentences that one page makes of a study, kept between reruns under what was asked for."""

from collections.abc import Callable, Hashable
from typing import TypeVar, cast

import streamlit as st

from pages.shared.cache.catalog import Source

Made = TypeVar("Made")


def kept(source: Source, what: str, asked: Hashable, make: Callable[[], Made]) -> Made:
    """What `make` gives, made once for each study as it is, `what` it is called and all that it depends on besides."""
    return cast(Made, _kept(source, what, asked, make))


@st.cache_resource(max_entries=256, show_spinner=False)
def _kept(source: Source, what: str, asked: Hashable, _make: Callable[[], object]) -> object:
    return _make()
