"""The menu: which pages there are, in four groups, and which of them have nothing to show of a study, and why."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import streamlit as st

from engine.analysis import columns
from engine.errors import PruneScopeError
from pages.shared.cache import between, catalog, extras
from pages.shared.cache.catalog import Source
from pages.shared.cache.kept import kept

DECIDE, WHO_PAYS, RESEARCH, DATA = "Decide", "Who pays", "Research", "Data"
GROUPS = {DECIDE: True, WHO_PAYS: True, RESEARCH: False, DATA: False}
"""The groups in order, and whether each is open on pages of other groups too."""


@dataclass(frozen=True)
class Entry:
    """One page of the menu: its file, its name, its icon, the question that it answers, and its group."""

    file: str
    label: str
    icon: str
    question: str
    group: str


MENU = (
    Entry("app.py", "Overview", ":material/home:", "What does pruning hide behind a steady accuracy?", DECIDE),
    Entry(
        "pages/frontier.py", "Frontier", ":material/stacked_line_chart:", "Which pruned network should we ship?", DECIDE
    ),
    Entry(
        "pages/decisions.py", "Decisions", ":material/gavel:", "What was decided, by whom, and does it stand?", DECIDE
    ),
    Entry("pages/class_curves.py", "Class curves", ":material/show_chart:", "Which classes fall first?", WHO_PAYS),
    Entry(
        "pages/writers.py", "Writers", ":material/groups:", "Who loses, and does their writing explain it?", WHO_PAYS
    ),
    Entry("pages/subgroups.py", "Subgroups", ":material/diversity_3:", "Whose errors grow?", WHO_PAYS),
    Entry(
        "pages/harmed.py",
        "Harmed examples",
        ":material/broken_image:",
        "Which examples does compression change?",
        WHO_PAYS,
    ),
    Entry("pages/causes.py", "Causes", ":material/biotech:", "Why do some groups lose more?", RESEARCH),
    Entry(
        "pages/mitigation.py", "Mitigation", ":material/handyman:", "What does training against gaps change?", RESEARCH
    ),
    Entry(
        "pages/distortion.py",
        "Recall distortion",
        ":material/balance:",
        "Does pruning widen gaps between classes?",
        RESEARCH,
    ),
    Entry(
        "pages/regression.py", "Regression", ":material/query_stats:", "Which classes lose, all else equal?", RESEARCH
    ),
    Entry("pages/run.py", "Run", ":material/play_circle:", "What should be computed next?", DATA),
    Entry("pages/bring.py", "Bring your own", ":material/upload:", "How do my own models fare?", DATA),
    Entry("pages/method.py", "Method", ":material/menu_book:", "How are these numbers made?", DATA),
)


def draw_menu(file: str, link: Mapping[str, list[str]], source: Source | None) -> None:
    """Draw links to all pages, with `link` in their addresses; those of which the study has nothing are grey."""
    lacking = missing(source) if source is not None else {}
    for group, always in GROUPS.items():
        entries = [entry for entry in MENU if entry.group == group]
        is_open = always or file in {entry.file for entry in entries}
        with st.expander(group, expanded=is_open, key=f"menu-{group}", type="compact"):
            for entry in entries:
                why = lacking.get(entry.file)
                st.page_link(
                    entry.file,
                    label=f"{entry.label} · {why.short}" if why else entry.label,
                    icon=entry.icon,
                    help=why.sentence if why else entry.question,
                    disabled=bool(why),
                    query_params=link,
                )


@dataclass(frozen=True)
class Missing:
    """Why a page has nothing to show of a study: in two words beside its name, and as a sentence."""

    short: str
    sentence: str


REASONS = {
    "pages/writers.py": Missing("nobody named", "The examples of this study do not say who made them."),
    "pages/subgroups.py": Missing("no groups", "The examples of this study are not parted into groups."),
    "pages/causes.py": Missing("not measured", "No run of this study measured gradients and curvature."),
    "pages/mitigation.py": Missing("not tried", "No run of this study was trained against gaps."),
}


def missing(source: Source) -> dict[str, Missing]:
    """Pages that no experiment of the study can fill, by file; of a study that cannot be read none is known."""
    return kept(source, "missing pages", (), lambda: _missing(source))


def _missing(source: Source) -> dict[str, Missing]:
    try:
        experiments = catalog.experiments(source)
        mitigations = catalog.load_catalog(source).runs["mitigation"].unique()
        sets = {catalog.example_set(source, experiment): experiment for experiment in experiments}
        found: dict[str, Callable[[], bool]] = {
            "pages/writers.py": lambda: any(between.example_columns(source, e).members for e in sets.values()),
            "pages/subgroups.py": lambda: any(between.example_columns(source, e).groups for e in sets.values()),
            "pages/causes.py": lambda: any(extras.is_diagnosed(source, experiment) for experiment in experiments),
            "pages/mitigation.py": lambda: any(map(columns.is_mitigated, mitigations)),
        }
        return {file: REASONS[file] for file, has in found.items() if experiments and not has()}
    except PruneScopeError:
        return {}
