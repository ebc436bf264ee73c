"""From the form to a job: how large it is, how long it takes, where it goes, and the button that starts it."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.datasets.dataset_table import data_root
from engine.errors import PruneScopeError
from engine.jobs.job import live_job
from engine.jobs.job_limits import limits_here
from engine.jobs.job_request import JobRequest
from engine.jobs.job_size import job_size
from engine.jobs.start_job import start_job
from engine.plain_names import PLAIN_NAME
from engine.run_spec import RunSpec
from engine.specs.preset import Preset
from engine.store.claims import living_claims
from pages.shared import bound, formats
from pages.shared.cache import catalog
from pages.shared.cache.catalog import Source
from pages.shared.cache.estimates import end_estimates, estimating
from pages.shared.session.access import as_person, may_write, refusal
from pages.views.run import words
from pages.views.run.form import choose_runs

NEW = "a new study …"


def show_form(study: str | None, source: Source | None) -> None:
    """The form, what it comes to, and Start; a sentence in its place where it makes no sense."""
    try:
        asked = choose_runs(source)
        target = _target(study)
        workers, hours = _limits()
        size = job_size(asked.preset.specs, catalog.studies_root() / target)
    except PruneScopeError as error:
        st.info(formats.plain(error), icon=":material/info:")
        return
    st.markdown(words.size_sentence(size))
    folder = catalog.studies_root() / target
    job = live_job(folder)
    if job is not None:
        st.info(f"**A job works on {formats.plain(target)}.** Wait until it is done, or stop it above.")
    elif busy := living_claims(folder / "claims", at_a_glance=True):
        n = formats.count(len(busy))
        st.info(f"**{n} runs of this study are being computed elsewhere.** A job leaves those and does the others.")
    buttons = st.container(horizontal=True)
    buttons.button(
        "Start",
        icon=":material/play_arrow:",
        type="primary",
        key="start",
        on_click=as_person(_start),
        args=(target, asked.preset, workers, hours),
        disabled=not may_write() or job is not None or not size.n_missing,
        help=refusal("start jobs"),
    )
    if job is None and size.n_missing:
        _show_estimate(_missing(asked.preset.specs, folder.name), workers, buttons)


def _target(study: str | None) -> str:
    """The study that the runs go to."""
    options = [*([study] if study else []), NEW]
    chosen = bound.selectbox("Into", options, key="into", format_func=str, width=320)
    if chosen != NEW:
        return chosen
    name = st.text_input("Name of the new study", "mine", key="into-new", width=320).strip()
    if not PLAIN_NAME.match(name):
        raise PruneScopeError(f"{name!r} is no name for a study. Use letters, digits, '.', '_' and '-'.")
    return name


def _limits() -> tuple[int, float]:
    """Processes and hours that the job may have; 0 is as many as there are."""
    allowed = limits_here()
    with st.expander("How much of this machine it may have"), st.container(horizontal=True):
        most = allowed.workers or 256
        workers = bound.number_input(
            "Processes", 0, most, 0, key="workers", step=1.0, format="%.0f", width=160, help="0: one per core."
        )
        most_hours = allowed.hours or 10_000
        hours = bound.number_input(
            "Stop after hours", 0, most_hours, 0, key="hours", step=1.0, width=160, help="0: no limit of its own."
        )
    return int(workers or 0), float(hours or 0)


def _missing(specs: tuple[RunSpec, ...], study: str) -> tuple[RunSpec, ...]:
    folder = catalog.studies_root() / study / "runs"
    there = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    return tuple(spec for spec in specs if spec.key not in there)


def _show_estimate(missing: tuple[RunSpec, ...], workers: int, where: DeltaGenerator) -> None:
    """How long it takes here, by a measurement that a click asks for: it takes a while and the machine's power."""
    if not may_write():
        return
    where.button("How long would it take?", icon=":material/timer:", key="measure", on_click=_measure, args=(missing,))
    if st.session_state.get("measured") == [spec.key for spec in missing]:
        _estimate_lines(missing, workers)


def _measure(missing: tuple[RunSpec, ...]) -> None:
    st.session_state["measured"] = [spec.key for spec in missing]


@st.fragment(run_every=1.0)
def _estimate_lines(missing: tuple[RunSpec, ...], workers: int) -> None:
    found = estimating(missing, str(data_root()), workers)
    if found.total:
        st.markdown(f"**{formats.plain(found.total)}**")
    for line in found.lines:
        if line != found.total:
            st.caption(formats.plain(line))
    if found.is_running:
        st.caption("Measuring on this machine …")


def _start(study: str, preset: Preset, workers: int, hours: float) -> None:
    end_estimates()
    request = JobRequest(preset, str(data_root().resolve()), workers=workers, hours=hours)
    start_job(catalog.studies_root() / study, request)
    st.session_state["study"] = study
