"""The body of a page: all below its title, drawn again alone when a control in it moves.

Menu and sidebar are neither computed nor sent again then; a control of theirs runs the whole page.
"""

from collections.abc import Callable
from functools import wraps

import streamlit as st

from pages.shared.cache import catalog
from pages.shared.frame import Frame

part = st.fragment
"""A part of a body with a control that moves nothing else: drawn again alone as well."""


def body(draw: Callable[[Frame], None]) -> Callable[[Frame], None]:
    """The function that draws a page below its frame; where the study has changed since, the frame is drawn as well."""

    @wraps(draw)
    def drawn(frame: Frame) -> None:
        if catalog.source(frame.name) != frame.source:
            st.rerun()
        draw(frame)

    return st.fragment(drawn)
