"""The frame around every page: title, menu, study, filters; all of it in the address, so that a link shows the same."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

import pandas as pd
import streamlit as st
from streamlit.errors import StreamlitAPIException

from engine.analysis.curves.baseline import CONTROL
from engine.errors import PruneScopeError
from engine.pruning.schedules import TREATMENTS
from engine.pruning.techniques import TECHNIQUES
from pages.shared import bound, formats
from pages.shared.cache import catalog
from pages.shared.cache.catalog import Experiment, Source
from pages.shared.collector import keep_memory_free
from pages.shared.experiments import choose_experiment, data_label, experiment_names
from pages.shared.menu import MENU, draw_menu
from pages.shared.names import BASELINE_LABELS, explained, network_name, technique_name, treatment_name
from pages.shared.session import candidate, history
from pages.shared.session.access import open_door, show_person
from pages.shared.session.mending import mend_page
from pages.shared.session.scheme import follow_scheme, is_dark
from pages.shared.session.sidebar import fold_where_narrow

STYLE = """
.stMainBlockContainer {padding: 1.25rem 3rem 3rem}
@media (max-width: 1100px) {
  .stMainBlockContainer {padding: 2.75rem 1.5rem 3rem}
  [class*="st-key-beside-"] > .stHorizontalBlock, [class*="st-key-beside-"] > * > .stHorizontalBlock {flex-wrap: wrap}
  [class*="st-key-beside-"] .stColumn {min-width: 100%}
  [class*="st-key-wide-broad-"] {display: none}
  [class*="st-key-cards-broad-"] {display: flex !important}
}
@media (min-width: 641px) and (max-width: 1100px) {.st-key-beside-asked .stColumn {min-width: 45%}}
.st-key-answer p {font-size: 1.25rem; line-height: 1.5}
.st-key-ways-on a {padding: 0.5rem 1rem; border: 1px solid rgba(127, 127, 127, 0.6); border-radius: 0.35rem}
.st-key-ways-on a:not(:hover) {background: transparent}
.st-key-ways-on > :first-child a:is(a, :hover) {background: #0072B2}
.st-key-ways-on > :first-child a :is(p, span) {color: #FFFFFF}
[data-testid="stButtonGroup"] :is([aria-pressed="true"], [aria-checked="true"]) p {color: #005A8C}
.st-key-unseen {position: absolute; width: 1px !important; overflow: hidden}
[data-testid="stMultiSelect"] input {min-width: 1.5rem}
.stMainBlockContainer h1 {font-size: 2.25rem; padding: 0}
.stMainBlockContainer h2 {font-size: 1.25rem}
.stMainBlockContainer h3 {font-size: 1.1rem}
[data-testid="stSidebar"] .stSelectbox input {font-size: 0.875rem}
.st-key-brand {pointer-events: none}
.st-key-brand p {font-size: 1.25rem; font-weight: 600}
[data-testid="stSidebarHeader"] {height: 2.5rem; margin-bottom: -1.9rem}
[data-testid="stSidebarUserContent"] > div > [data-testid="stVerticalBlock"] {gap: 0.5rem}
.js-plotly-plot text[style*="fill: rgb(128, 132, 149)"] {fill: #5A616B !important}
.js-plotly-plot .modebar {top: -1.1rem !important}
.js-plotly-plot, [data-testid="stElementContainer"]:has(> * > * > .js-plotly-plot) {overflow: visible !important}
[class*="st-key-cards-"] {display: none}
[class*="st-key-below-"] {flex-wrap: wrap}
[class*="st-key-below-"] > :first-child:not(:last-child) {flex: 1 1 18rem !important}
[data-testid="stCaptionContainer"], [class*="st-key-menu-"] summary, [class*="st-key-menu-"] summary p
  {color: inherit; opacity: 0.85}
@media (max-width: 640px) {
  .stMainBlockContainer {padding: 3rem 1rem 2rem}
  [data-testid="stButtonGroup"] [role="radiogroup"] {flex-wrap: wrap}
  [class*="st-key-wide-"] {display: none}
  [class*="st-key-cards-"] {display: flex}
  [data-testid="stCode"] pre, [data-testid="stCode"] code {white-space: pre-wrap !important; overflow-wrap: anywhere}
  [data-testid="stTableStyledTable"] {table-layout: fixed; width: 100%; min-width: 0 !important}
  [data-testid="stTableStyledTable"] :is(th, td) {padding: 0.1rem; font-size: 0.75rem}
  [data-testid="stTableStyledTable"] * {white-space: normal !important; overflow-wrap: anywhere; min-width: 0}
}
"""
DARK_STYLE = """
[data-testid="stButtonGroup"] :is([aria-pressed="true"], [aria-checked="true"]) p {color: #56B4E9}
[data-testid="stMultiSelect"] [data-tag] *, button[kind^="primary"] p, button[kind^="primary"] span,
.st-key-ways-on > :first-child a :is(p, span) {color: #12161B}
.st-key-ways-on > :first-child a:is(a, :hover) {background: #56B4E9}
"""
"""Streamlit writes white on the light blue of chosen options and of buttons."""
ICON = Path(__file__).with_name("icon.png")
SHARED_KEYS = ("study", "dataset", "network", "protocol", "techniques", "treatments", "baseline", *candidate.KEYS)
"""Settings of the frame, by their names in the address."""


@dataclass(frozen=True)
class Frame:
    """What a page works on: the study, the experiment, the techniques and treatments that are switched on, and what
    pruned networks are compared with."""

    source: Source
    name: str
    experiment: Experiment
    techniques: tuple[str, ...]
    treatments: tuple[str, ...]
    dark: bool
    baseline: str = CONTROL
    """One of BASELINES; a model that has no control is compared with its dense network all the same."""

    def keep(self, table: pd.DataFrame) -> pd.DataFrame:
        """The rows of the chosen techniques and treatments."""
        wanted = table["technique"].isin(self.techniques) & table["treatment"].isin(self.treatments)
        return table[wanted.to_numpy()].reset_index(drop=True)

    @property
    def settings(self) -> dict[str, list[str]]:
        """The frame's settings by their names in the address, those at their defaults too."""
        return {
            "study": [self.name],
            "dataset": [data_label(self.experiment)],
            "network": [network_name(self.experiment.network)],
            "protocol": [experiment_names(self.source)[self.experiment]],
            "techniques": [technique_name(key) for key in self.techniques],
            "treatments": [formats.plain(treatment_name(key)) for key in self.treatments],
            "baseline": [BASELINE_LABELS[self.baseline]],
        }

    @property
    def class_names(self) -> dict[int, str]:
        """Names of the classes by their numbers; empty where the study does not have them."""
        return catalog.class_names(self.source, self.experiment)


Fits = Callable[[Source, Experiment], bool]


def stop_with(title: str, way_on: str) -> NoReturn:
    """A sentence and a way on in place of the page."""
    st.info(f"**{title}** {way_on}", icon=":material/info:")
    st.stop()


def stop_with_experiments(frame: Frame, file: str, title: str, way_on: str, fits: Fits) -> NoReturn:
    """The same where other experiments of the study have what the page shows, with links to them."""
    others = [e for e in catalog.experiments(frame.source) if e != frame.experiment and fits(frame.source, e)]
    st.info(f"**{title}** {'These have some:' if others else way_on}", icon=":material/info:")
    for other in others:
        named = replace(frame, experiment=other).settings
        words = [formats.plain(named[name][0]) for name in ("dataset", "network", "protocol")]
        link = {name: named[name] for name in ("study", "dataset", "network", "protocol")}
        st.page_link(file, label=" · ".join(words), icon=":material/arrow_forward:", query_params=link)
    st.stop()


def open_page(file: str, fits: Fits | None = None) -> Frame:
    """Draw the frame of this page and say what it works on; stops with a sentence where there is nothing to show.

    Of the experiments one that `fits` comes first, for who has not chosen yet.
    """
    name = _open(file, with_study=True)
    if name is None:
        stop_with("No study found.", f"Studies are folders with finished runs under `{catalog.studies_root().name}/`.")
    source = catalog.source(name)
    try:
        experiments = catalog.experiments(source)
    except PruneScopeError as error:
        stop_with("This study cannot be read.", formats.plain(error))
    if not experiments:
        broken = list(catalog.load_catalog(source).broken.values())
        if broken:
            stop_with(f"None of the {len(broken)} runs of this study can be read.", formats.plain(broken[0]))
        stop_with("This study has no finished run yet.", "It will show here as soon as its first run is finished.")
    if fits is not None:
        experiments = sorted(experiments, key=lambda experiment: not fits(source, experiment))
    with st.sidebar:
        card = st.container()
        experiment = choose_experiment(source, experiments)
        techniques, treatments = _filters(source, experiment)
        baseline = _baseline()
        _say_left_out(source)
    frame = Frame(source, name, experiment, techniques, treatments, is_dark(), baseline)
    with card:
        candidate.show_card(frame)
    if not techniques or not treatments:
        stop_with("Nothing is switched on.", "Choose at least one technique and one treatment on the left.")
    if frame.keep(catalog.variants(source, experiment)).empty:
        stop_with("No run has these techniques with these treatments.", "Choose others on the left.")
    return frame


def open_without_study(file: str) -> None:
    """Draw the title and the menu of a page that works without a study."""
    _open(file, with_study=False)


def open_with_study(file: str) -> str | None:
    """Draw title, menu and the picker of studies; the one that is chosen, finished runs or not, None without any."""
    return _open(file, with_study=True)


def _open(file: str, with_study: bool) -> str | None:
    """Draw title and menu; the name of the study that is chosen, None where there is none to choose."""
    entry = next(entry for entry in MENU if entry.file == file)
    st.set_page_config(page_title=f"{entry.label} · PruneScope", page_icon=str(ICON), layout="wide")
    keep_memory_free()
    open_door()
    _carry(file)
    with st.sidebar:
        st.container(key="brand").markdown("PruneScope")
        above = st.container()
        show_person()
        name = _study() if with_study else None
        with above:
            draw_menu(file, shared_link(), _menu_source(name))
    with st.container(key="unseen"):
        st.html(f"<style>{STYLE}{DARK_STYLE if is_dark() else ''}</style>")
        history.keep_history()
        fold_where_narrow()
        follow_scheme()
        mend_page()
    st.title(entry.label, anchor=False)
    st.caption(entry.question)
    return name


def _carry(file: str) -> None:
    """Hand the frame's settings on to another page: Streamlit forgets those that came with the address of the first."""
    before, st.session_state["open page"] = st.session_state.get("open page", file), file
    if before != file:
        history.take_address(SHARED_KEYS)
        for key in SHARED_KEYS:
            if bound.has_all(key):
                st.query_params.pop(key, None)
                del st.session_state[key]
            elif isinstance(st.session_state.get(key), str | list | tuple) and key not in st.query_params:
                st.session_state[key] = st.session_state[key]
                with suppress(StreamlitAPIException):  # a control that is bound already says it itself
                    st.query_params[key] = st.session_state[key]


def shared_link() -> dict[str, list[str]]:
    """The frame's settings for links to other pages: as they stand in the address, or as the page before left them."""
    said = [key for key in SHARED_KEYS if not bound.has_all(key)]
    link = {key: st.query_params.get_all(key) for key in said if key in st.query_params}
    left = {key: st.session_state[key] for key in said if key not in link and key in st.session_state}
    texts = {key: value for key, value in left.items() if value and isinstance(value, str | list | tuple)}
    return link | {key: [value] if isinstance(value, str) else list(map(str, value)) for key, value in texts.items()}


def _menu_source(name: str | None) -> Source | None:
    """The study whose pages the menu offers: the one that is chosen, on a page without it the one chosen before."""
    names = catalog.study_names()
    chosen = name or next(iter(shared_link().get("study", [])), "") or next(iter(names), "")
    return catalog.source(chosen) if chosen in names else None


def _study() -> str | None:
    names = catalog.study_names()
    if not names:
        return None
    return str(bound.selectbox("Study", names, key="study", help="Finished runs that belong together."))


def _say_left_out(source: Source) -> None:
    """Name the damaged file for which a run is left out, where there is one."""
    reasons = list(catalog.load_catalog(source).broken.values())
    if reasons:
        more = f" And {formats.count(len(reasons) - 1)} more." if len(reasons) > 1 else ""
        st.caption(f":material/warning: Left out: {formats.plain(reasons[0])}{more}")


def _filters(source: Source, experiment: Experiment) -> tuple[tuple[str, ...], tuple[str, ...]]:
    rows = catalog.levels(source, experiment)
    recorded = set(map(str, rows["technique"].cat.categories))
    keys = [key for key in TECHNIQUES if key in recorded] + sorted(recorded - set(TECHNIQUES))
    label = {technique_name(key): key for key in keys}
    n_chosen = bound.count_chosen("techniques", list(label))
    with st.popover(f"Techniques: {n_chosen} of {len(label)}", key="techniques-box", width="stretch"):
        techniques = bound.multiselect(
            "Techniques",
            list(label),
            default=list(label),
            key="techniques",
            help="How weights are cut.\n\n"
            + "\n\n".join(f"**{TECHNIQUES[key].label}**: {TECHNIQUES[key].help}" for key in keys if key in TECHNIQUES),
        )
    ways = {treatment_name(key): key for key in sorted(map(str, rows["treatment"].cat.categories), reverse=True)}
    treatments = bound.pills(
        "After each cut",
        list(ways),
        default=list(ways),
        format_func=formats.plain,  # pills read markdown
        key="treatments",
        help=explained(TREATMENTS, ways.values()),
    )
    return tuple(label[name] for name in techniques), tuple(ways[name] for name in treatments or ())


def _baseline() -> str:
    """What pruned networks are compared with; both are offered always, so that a link never asks for what is not."""
    keys = {label: key for key, label in BASELINE_LABELS.items()}
    chosen = bound.selectbox(
        "Compare with",
        list(keys),
        key="baseline",
        help="What networks that kept training are compared with: one that trained as long without pruning, or the "
        "unpruned one before any of it. Where no such training is recorded, and for all others, it is the latter.",
    )
    return keys[str(chosen)]
