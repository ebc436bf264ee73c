"""The form's finer parts: what data there is and how it comes, the network, and the protocol with all its settings."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from engine.datasets.dataset_table import DATASETS, data_root
from engine.datasets.on_disk import is_on_disk
from engine.errors import PruneScopeError
from engine.networks.network_table import NETWORKS
from engine.pruning.schedules import SCHEDULES
from engine.run_spec import DEFAULTS, SETTINGS, settings
from engine.setting import Setting
from engine.specs.choices import choices_of
from engine.specs.preset import load_preset
from pages.shared import bound, formats
from pages.shared.example_images import ExampleImages, show_problem

PROTOCOLS: Mapping[str, tuple[str, str]] = {
    "Quick: minutes on small images": ("quick", ""),
    "Paper: 30 epochs, 20 levels": ("paper", ""),
    "Plain defaults": ("", ""),
}
"""Named protocols and the preset whose first run each is taken from."""
SECTIONS = {
    "data": "Data",
    "training": "Training",
    "pruning": "Pruning",
    "mitigation": "Mitigation",
    "record": "Record",
}
ELSEWHERE = ("dataset", "network", "technique", "treatment", "seed", "schedule")
"""Settings that have their own place in the form."""


def choose_data() -> str:
    """The data set; one that is not on this machine with the button that fetches it."""
    root = data_root()
    there = {key: is_on_disk(key, root) for key in DATASETS}
    labels = {f"{row.label}{'' if there[key] else ' · not on this machine'}": key for key, row in DATASETS.items()}
    order = sorted(labels, key=lambda label: not there[labels[label]])
    key = labels[bound.selectbox("Data set", order, key="run-dataset", help="Those on this machine come first.")]
    row = DATASETS[key]
    st.caption(formats.plain(row.help))
    if not there[key]:
        way = "Fetch it here, or" if row.fetch else formats.plain(row.bring)
        command = f" `python -m engine data get {key}` on the machine does." if row.fetch else ""
        problem = f"**{formats.plain(row.label)} is not on this machine.** {way}{command}"
        show_problem(ExampleImages(None, problem, fetchable=key if row.fetch else ""))
    return key


def choose_network() -> str:
    """The network."""
    labels = {row.label: key for key, row in NETWORKS.items()}
    key = labels[bound.selectbox("Network", list(labels), key="run-network")]
    st.caption(formats.plain(NETWORKS[key].help))
    return key


def choose_details(schedule: str) -> dict[str, Any]:
    """The settings beside what, with what and how often: a named protocol, and every one of them folded below it."""
    name = bound.selectbox("Protocol", list(PROTOCOLS), key="run-protocol", help="How long networks train and learn.")
    start = protocol_settings(PROTOCOLS[name][0], schedule)
    found: dict[str, Any] = {}
    with st.expander("All settings"):
        for section, title in SECTIONS.items():
            st.markdown(f"**{title}**")
            with st.container(horizontal=True, vertical_alignment="bottom"):
                for item in SETTINGS.values():
                    if item.about.section == section and item.name not in ELSEWHERE and _fits(item, schedule):
                        found[item.name] = _control(item, start.get(item.name, item.default), name)
    return {key: value for key, value in found.items() if value != DEFAULTS[key]}


def protocol_settings(preset: str, schedule: str) -> dict[str, Any]:
    """What the first run of a preset says of training and pruning, as far as it fits the schedule."""
    values = settings(load_preset(preset).specs[0]) if preset else {}
    kept = ("training", "pruning")
    found = {
        name: value
        for name, value in values.items()
        if SETTINGS[name].about.section in kept and name not in ELSEWHERE and _fits(SETTINGS[name], schedule)
    }
    if "sparsities" in SCHEDULES[schedule].settings:
        found.setdefault("sparsities", [0.5, 0.8, 0.9, 0.95])
    return found


def _fits(item: Setting, schedule: str) -> bool:
    """Whether the setting has a meaning for the schedule."""
    own = {name for row in SCHEDULES.values() for name in row.settings}
    return item.name not in own or item.name in SCHEDULES[schedule].settings


def _control(item: Setting, value: Any, protocol: str) -> Any:
    """The control that a setting's type asks for; a text that is none of its values is refused."""
    about, key = item.about, f"set-{item.name}-{protocol}"
    text = f"{about.help[:1].upper()}{about.help[1:]}."
    look: dict[str, Any] = {"key": key, "help": text, "width": 190}
    table = choices_of(item.name)
    if table is not None:
        names = list(table)
        return st.selectbox(about.label, names, names.index(value), format_func=lambda k: table[k].label, **look)
    if isinstance(item.default, bool):
        return st.toggle(about.label, bool(value), **look)
    if isinstance(item.default, int):
        return int(st.number_input(about.label, value=int(value), step=1, **look))
    if isinstance(item.default, float):
        return float(st.number_input(about.label, value=float(value), step=None, format="%g", **look))
    shown = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    said = st.text_input(about.label, shown, **look).strip()
    if isinstance(item.default, str):
        return said
    try:
        parts = item.kind.parse(said) if said else ()
    except ValueError:
        raise PruneScopeError(f"{about.label} is {said!r}; it should be {item.kind.words}, with commas.") from None
    return tuple(part.strip() if isinstance(part, str) else part for part in parts)
