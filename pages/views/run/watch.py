"""A job while it works, read from its small files every two seconds: how far, how fast, its curve, log and buttons."""

import threading
from collections.abc import Callable
from typing import Any

import pandas as pd
import streamlit as st

from engine.errors import PruneScopeError
from engine.jobs.job import Job, JobState, jobs_of
from engine.jobs.start_job import go_on
from engine.jobs.stop_job import Wish, ask_to_stop, see_it_end
from engine.study_folders import studies_in
from pages.shared import formats
from pages.shared.cache import catalog
from pages.shared.cache.estimates import end_estimates
from pages.shared.layout import answer, show_chart
from pages.shared.names import technique_name, treatment_name
from pages.shared.session.access import as_person, may_write
from pages.views.run import words
from pages.views.run.charts import live_chart, live_table

EVERY_SECONDS = 2.0
SHOWN_RUNS = 12


def title_of(job: Job) -> str:
    """What the job is called; its name where its request cannot be read."""
    try:
        return job.request().preset.title
    except PruneScopeError:
        return job.id


def show_latest(study: str) -> None:
    """The study's newest job, watched as long as it lives."""
    jobs = jobs_of(catalog.studies_root() / study)
    if not jobs:
        answer(words.headline(None, {}, "", study))
        return
    job = jobs[0]
    if job.is_live():
        _watched(job, study, title_of(job))
    else:
        _show(job, study, title_of(job))


@st.fragment(run_every=EVERY_SECONDS)
def _watched(job: Job, study: str, title: str) -> None:
    if not job.is_live():
        st.rerun()
    _show(job, study, title)


def _show(job: Job, study: str, title: str) -> None:
    state, said = job.state(), job.progress()
    answer(words.headline(state, said, title, study))
    if said.get("n_models") and (state.is_live or state.word != "done"):
        share = min(1.0, said["models_done"] / said["n_models"])
        rate = (
            f"{said['models_a_minute']:.{0 if said['models_a_minute'] >= 10 else 1}f} models a minute"
            if state.is_live and said["models_done"]
            else ""
        )
        done = f"{formats.count(int(said['models_done']))} of {formats.count(said['n_models'])} models"
        failed = f"{formats.count(said['n_failed'])} runs failed" if said["n_failed"] else ""
        st.progress(share, " · ".join(filter(None, (done, rate, failed))))
    _buttons(job, state)
    runs = said.get("runs", [])
    if state.word != "done" and any(run["accuracies"] for run in runs):
        chart = live_chart(runs)
        show_chart(chart, "live", "Accuracy of each run, level by level, as it is computed.", lambda: live_table(runs))
    if state.is_live and runs:
        st.dataframe(_run_table(runs), hide_index=True, column_config=_COLUMNS, alt="The runs and how far they are.")
    with st.expander("Log"):
        owner = job.owner()
        st.caption(formats.plain(f"Job {job.id}, started by {owner.get('who', '?')} at {owner.get('time', '?')}."))
        st.code(job.log()[-6000:] or "Nothing was said yet.", language=None)


def _buttons(job: Job, state: JobState) -> None:
    can = may_write()
    with st.container(horizontal=True):
        if state.word == "running":
            text = "Stops after the levels that are finished; Go on continues from there."
            _button("Pause", "pause", lambda: _stop(job, "pause"), can, text)
            text = "Stops and removes half-finished runs; finished ones stay."
            _button("Cancel", "close", lambda: _stop(job, "cancel"), can, text)
        elif state.can_go_on:
            _button("Go on", "play_arrow", lambda: _go_on(job), can, "Computes what is missing.")


def _button(label: str, icon: str, act: Callable[[], None], can: bool, text: str) -> None:
    st.button(
        label,
        icon=f":material/{icon}:",
        key=f"job-{label.lower().replace(' ', '-')}",
        on_click=as_person(act),
        disabled=not can,
        help=text,
    )


def _stop(job: Job, wish: Wish) -> None:
    ask_to_stop(job, wish)
    threading.Thread(target=see_it_end, args=(job,), daemon=True).start()


def _go_on(job: Job) -> None:
    end_estimates()
    go_on(job)


def show_others(study: str) -> None:
    """The earlier jobs of this study, and those of other studies that run now."""
    root = catalog.studies_root()
    earlier = jobs_of(root / study)[1:] if study else []
    others = [name for name in studies_in(root) if name != study] if root.is_dir() else []
    running = [(name, job) for name in others for job in jobs_of(root / name)[:1] if job.is_live()]
    for name, job in running:
        st.page_link(
            "pages/run.py",
            label=f"{formats.plain(title_of(job))} is running in **{formats.plain(name)}**",
            icon=":material/play_circle:",
            query_params={"study": name},
        )
    if earlier:
        with st.expander(f"Earlier jobs: {formats.count(len(earlier))}"):
            st.dataframe(pd.DataFrame([_job_row(job) for job in earlier[:50]]), hide_index=True, alt="Earlier jobs.")


def _job_row(job: Job) -> dict[str, str]:
    owner, state = job.owner(), job.state()
    return {
        "job": title_of(job),
        "state": state.word,
        "by": str(owner.get("who", "")),
        "began": str(owner.get("time", ""))[:16].replace("T", " "),
        "why": words.short(state.reason, 120),
    }


_COLUMNS = {"level": st.column_config.ProgressColumn(format="%.0f %%", min_value=0, max_value=100, help="Levels done.")}


def _run_table(runs: list[dict[str, Any]]) -> pd.DataFrame:
    rows = [
        {
            "technique": technique_name(run["technique"]),
            "treatment": treatment_name(run["treatment"]),
            "seed": run["seed"],
            "level": 100.0 if run["state"] == "done" else 100 * run["level"] / max(1, run["n_levels"]),
            "": f"{run['level']} of {run['n_levels']}" if run["state"] == "running" else run["state"],
            "epoch": f"{run['epoch']} of {run['n_epochs']}" if run["state"] == "running" else "",
            "accuracy": formats.percent(run["accuracies"][-1][1]) if run["accuracies"] else formats.MISSING,
        }
        for run in runs[:SHOWN_RUNS]
    ]
    return pd.DataFrame(rows)
