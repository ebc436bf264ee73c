"""The images of test examples, or the sentence that stands in their place and the button that brings them."""

from dataclasses import dataclass

import numpy as np
import streamlit as st

from engine.datasets.dataset_table import DATASETS, Request, data_root
from engine.errors import PruneScopeError
from engine.run_spec import RunSpec
from engine.store.images import images_name
from pages.shared import formats
from pages.shared.cache import catalog
from pages.shared.cache.catalog import Source
from pages.shared.cache.images import carried_images, fetches, start_fetching
from pages.shared.names import dataset_name
from pages.shared.session.access import as_person, refusal


@dataclass(frozen=True, eq=False)
class ExampleImages:
    """The images, or None with the problem; whose they are; and the data set that a button may fetch, if one may."""

    images: np.ndarray | None
    problem: str = ""
    credit: str = ""
    fetchable: str = ""


def example_images(source: Source, spec: RunSpec, labels: np.ndarray, below: str) -> ExampleImages:
    """The images of the examples: the study's own, else those of the data set on this machine.

    Without any, why, and what brings them; `below` is what the page shows then.
    """
    name, row = formats.plain(dataset_name(spec.dataset)), DATASETS.get(spec.dataset)
    if row is None or spec.schedule == "imported":
        return ExampleImages(None, f"**No images.** {name} came as predictions only; {below.lower()} below.")
    try:
        carried = carried_images(source, images_name(spec.dataset, spec.split))
        if carried is not None and np.array_equal(carried[1], labels):
            return ExampleImages(carried[0], credit=row.credit)
        request = Request(spec.split, spec.target, spec.groups, spec.image_size)
        side = catalog.test_images(spec.dataset, request, data_root())
    except PruneScopeError as error:
        if not isinstance(error.__cause__, FileNotFoundError):
            return ExampleImages(None, f"**The images cannot be read.** {formats.plain(error)}")
        way = f"`python -m engine data get {spec.dataset}` brings them." if row.fetch else row.bring
        problem = f"**The images of {name} are not on this machine.** {way} {below} below."
        return ExampleImages(None, problem, fetchable=spec.dataset if row.fetch else "")
    if not np.array_equal(side.labels, labels):
        problem = f"**The images of {name} on this machine are not those that were tested**: their labels differ."
        return ExampleImages(None, problem)
    return ExampleImages(side.images, credit=row.credit)


def show_credit(found: ExampleImages) -> None:
    """Whose images they are, under a gallery."""
    if found.images is not None and found.credit:
        st.caption(f"Images: {formats.plain(found.credit)}.")


def show_problem(found: ExampleImages) -> None:
    """Why there are no images, with a button that fetches them where that is possible."""
    st.info(found.problem, icon=":material/image_not_supported:")
    if not found.fetchable:
        return
    known = fetches().get(found.fetchable)
    name = formats.plain(dataset_name(found.fetchable))
    if known is not None and known.is_running:
        _show_progress(found.fetchable, name)
        return
    if known is not None and known.failure:
        st.warning(fetch_failure(name, known.failure), icon=":material/cloud_off:")
    licence, refused = DATASETS[found.fetchable].licence, refusal("fetch data sets")
    st.button(
        f"Fetch {name}",
        icon=":material/download:",
        key="fetch-images",
        on_click=as_person(start_fetching),
        args=(found.fetchable,),
        help=refused or f"Downloads the data set from where its authors keep it onto this machine. Licence: {licence}.",
        disabled=refused is not None,
    )


def fetch_failure(name: str, reason: str) -> str:
    """One sentence about a download that failed, with what the server or the disk said."""
    last = reason.rpartition(": ")[2] or reason
    return f"**{name} could not be fetched.** Is this machine connected to the internet? It said: {formats.plain(last)}"


@st.fragment(run_every=1.0)
def _show_progress(key: str, name: str) -> None:
    known = fetches()[key]
    if not known.is_running:
        st.rerun()
    percent = known.percent
    words = f"Fetching {name} …" + (f" {percent} % of this file" if percent is not None else "")
    st.progress((percent or 0) / 100, words)
