"""'Get this model': the network of a run at a level as files, made by a process of its own; the page stays free."""

import streamlit as st

from engine.errors import PruneScopeError
from engine.run_spec import IMPORTED
from engine.shipping.detached import (
    DONE,
    FAILED,
    RUNNING,
    Parcel,
    Standing,
    seconds_needed,
    standing,
    start,
    zipped_model,
)
from engine.store.study import Study
from pages.shared import formats
from pages.shared.cache.catalog import Source
from pages.shared.session.access import refusal, writing

EVERY_SECONDS = 1.0
"""How often a page looks how far it is."""


def get_model(source: Source, run: str, level: int, decision: str = "") -> None:
    """A button, then progress, then the file; each session sees what any other has begun."""
    parcel = Parcel(source.study.path, run, level, decision)
    running = standing(parcel.folder).word == RUNNING
    st.fragment(_panel, run_every=EVERY_SECONDS if running else None)(parcel, running)


def _panel(parcel: Parcel, was_running: bool) -> None:
    now = standing(parcel.folder)
    if now.word == RUNNING:
        st.progress(now.share, text=formats.plain(now.text))
        if not was_running:
            st.rerun()
        return
    if was_running:
        st.rerun()
    name = f"{parcel.run}-level-{parcel.level}"
    if now.word == DONE:
        st.download_button(
            "Download the model",
            lambda: zipped_model(parcel.folder, name),
            f"{name}.zip",
            "application/zip",
            key=f"model-zip-{name}-{parcel.decision}",
            type="primary",
            icon=":material/download:",
            on_click="ignore",
        )
        return
    _offer(parcel, now)


def _offer(parcel: Parcel, now: Standing) -> None:
    """What it takes, and the button that begins it."""
    study = Study(parcel.study)
    try:
        if study.run_record(parcel.run).spec.schedule == IMPORTED:
            st.caption("Only this network's answers were brought here; its file is where it was trained.")
            return
        seconds = seconds_needed(study, parcel.run, parcel.level)
    except PruneScopeError as error:
        st.caption(f"This model cannot be made: {formats.plain(error)}")
        return
    if now.word == FAILED:
        st.warning(f"**The model was not made.** {formats.plain(now.text)}", icon=":material/warning:")
    words = (
        "Its weights were kept."
        if not seconds
        else f"No weights were kept; computing the run again takes {_about(seconds)}."
    )
    refused = refusal("make models")
    clicked = st.button(
        "Get this model",
        key=f"model-get-{parcel.run}-{parcel.level}-{parcel.decision}",
        icon=":material/inventory_2:",
        help=refused
        or "PyTorch and ONNX files, checked answer by answer against the record, with cards and checksums.",
        disabled=refused is not None,
    )
    st.caption(f"Run {parcel.run}, level {parcel.level}. {words}")
    if clicked:
        try:
            with writing():
                start(parcel)
        except PruneScopeError as error:
            st.info(formats.plain(error), icon=":material/hourglass:")
            return
        st.rerun()


def _about(seconds: float) -> str:
    if seconds != seconds:
        return "a while; how long it took is not recorded"
    return f"about {seconds / 60:.0f} minutes" if seconds >= 90 else f"about {max(seconds, 1):.0f} seconds"
