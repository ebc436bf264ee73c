"""What is to be run: a preset, more seeds of an experiment, what a close call needs, or settings of one's own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from engine.errors import PruneScopeError
from engine.jobs.job_request import runs_of
from engine.pruning.schedules import SCHEDULES, TREATMENTS
from engine.pruning.techniques import TECHNIQUES
from engine.run_spec import RunSpec
from engine.specs.experiment_names import ExperimentName
from engine.specs.preset import Preset, load_preset, preset_names, read_preset
from pages.shared import bound, formats
from pages.shared.cache import catalog
from pages.shared.cache.catalog import Experiment, Source
from pages.shared.experiments import experiment_names
from pages.shared.names import dataset_name, network_name
from pages.views.run.close_call import settle
from pages.views.run.details import choose_data, choose_details, choose_network

PRESET, SEEDS, SETTLE, OWN = KINDS = ("Preset", "More seeds", "Settle a close call", "My own settings")
OWN_FILE = "a file of mine"
LONGEST_FILE = 200_000
MOST_SEEDS = 200
USUAL_TECHNIQUES = ("global_unstructured", "random_unstructured")


@dataclass(frozen=True)
class Asked:
    """The runs that the form describes, and what it said of them."""

    preset: Preset
    note: str = ""


def choose_runs(source: Source | None) -> Asked:
    """Draw the form; a PruneScopeError says what in it makes no sense."""
    kind = bound.segmented_control("What to run", KINDS, default=PRESET, key="what")
    if kind == PRESET:
        return Asked(_preset())
    if kind == OWN:
        return Asked(_own())
    experiments = catalog.experiments(source) if source is not None else []
    computed = [e for e in experiments if e.schedule in SCHEDULES]
    if source is None or not computed:
        raise PruneScopeError("This study has no finished runs yet that more could be added to. Begin with a preset.")
    experiment = _experiment(computed, experiment_names(source))
    specs = _specs(source, experiment)
    if kind == SEEDS:
        return Asked(_more_seeds(specs, experiment))
    return Asked(*settle(source, experiment, specs))


def _preset() -> Preset:
    names = [*preset_names(), OWN_FILE]
    start = names.index("quick")
    named = {name: _title(name) for name in names}
    name = bound.selectbox("Preset", names, start, key="preset", format_func=named.__getitem__)
    if name != OWN_FILE:
        preset = load_preset(name)
        st.caption(formats.plain(preset.description))
        return preset
    file = st.file_uploader("A preset as TOML", ["toml"], key="preset-file", max_upload_size=1)
    if file is None:
        raise PruneScopeError("Choose a file. One of the presets that come with the engine shows how it is written.")
    content = file.getvalue()
    if len(content) > LONGEST_FILE:
        raise PruneScopeError(f"The file has {len(content):,} bytes; a preset has at most {LONGEST_FILE:,}.")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise PruneScopeError(f"The file is no text in UTF-8: {error.reason} at byte {error.start}.") from error
    return read_preset(file.name.removesuffix(".toml")[:60] or "mine", text)


def _title(name: str) -> str:
    return name if name == OWN_FILE else f"{name} · {load_preset(name).title}"


def _experiment(experiments: list[Experiment], called: Mapping[Experiment, str]) -> Experiment:
    """The experiment, the one that the other pages show first."""
    labels = {_label(experiment): experiment for experiment in experiments}
    here = {key: str(st.session_state.get(key) or st.query_params.get(key, "")) for key in ("dataset", "network")}
    start = next((at for at, e in enumerate(labels.values()) if _is_shown(e, here, called[e])), 0)
    chosen = bound.selectbox("Experiment", list(labels), start, key="experiment")
    return labels[chosen]


def _is_shown(experiment: Experiment, here: dict[str, str], name: str) -> bool:
    named = {"dataset": dataset_name(experiment.dataset, experiment.split), "network": network_name(experiment.network)}
    protocol = str(st.session_state.get("protocol") or st.query_params.get("protocol", ""))
    return named == here and protocol in ("", experiment.protocol, name)


def _label(experiment: Experiment) -> str:
    data = dataset_name(experiment.dataset, experiment.split)
    return " · ".join((data, network_name(experiment.network), experiment.protocol))


def _specs(source: Source, experiment: Experiment) -> list[RunSpec]:
    """The runs of an experiment."""
    keys = catalog.levels(source, experiment)["run"].cat.categories
    return [source.study.run_record(str(key)).spec for key in keys]


def more_seeds(specs: list[RunSpec], seeds: list[int]) -> tuple[RunSpec, ...]:
    """The runs of an experiment again, each kind of them with these seeds."""
    kinds = {spec.key: spec for spec in runs_of_seed_zero(specs)}
    return tuple(run for spec in kinds.values() for run in runs_of(spec, [{"seed": seed} for seed in seeds]))


def runs_of_seed_zero(specs: list[RunSpec]) -> tuple[RunSpec, ...]:
    """One run of each kind, whatever its seed was."""
    return tuple(run for spec in specs for run in runs_of(spec, [{"seed": 0}]))


def _more_seeds(specs: list[RunSpec], experiment: Experiment) -> Preset:
    there = sorted({spec.seed for spec in specs})
    n = int(bound.number_input("Seeds to add", 1, 50, 3, key="more", step=1.0, format="%.0f", width=160) or 1)
    new = range(there[-1] + 1, there[-1] + 1 + n)
    said = ", ".join(map(str, there[:12])) + (" …" if len(there) > 12 else "")
    st.caption(f"Seeds {said} are there; {', '.join(map(str, new[:12]))}{' …' if n > 12 else ''} would join them.")
    title = f"{n} more seed{'s' * (n > 1)} of {_label(experiment)}"
    return Preset("more-seeds", title, "", more_seeds(specs, list(new)))


def _own() -> Preset:
    first, second, third = st.container(key="beside-own").columns(3, gap="medium")
    with first:
        data = choose_data()
        network = choose_network()
    with second:
        techniques = _several("Techniques", TECHNIQUES, USUAL_TECHNIQUES, "run-techniques")
        treatments = _several("Treatments", TREATMENTS, ("rewind",), "run-treatments")
    with third:
        schedules = {row.label: key for key, row in SCHEDULES.items() if key != "imported"}
        label = bound.selectbox("Schedule", list(schedules), key="run-schedule", help="How much is cut and when.")
        seeds = seed_list(st.text_input("Seeds", "0-2", key="run-seeds", help="Such as 0-5, or 0, 3, 7."))
    details = choose_details(schedules[label])
    point: dict[str, Any] = {"dataset": data, "network": network, "schedule": schedules[label]} | details
    if not techniques or not treatments:
        raise PruneScopeError("Choose a technique and a treatment at least.")
    base = RunSpec(data, network, techniques[0])
    changes = [
        point | {"technique": technique, "treatment": treatment, "seed": seed}
        for seed in seeds
        for treatment in treatments
        for technique in techniques
    ]
    specs = runs_of(base, changes)
    names: tuple[ExperimentName, ...] = ()
    return Preset("own", f"{network_name(network)} on {dataset_name(data)}", "", specs, names)


def _several(label: str, table: Any, usual: tuple[str, ...], key: str) -> list[str]:
    labels = {row.label: name for name, row in table.items() if name != "none"}
    default = [label for label, name in labels.items() if name in usual]
    return [labels[chosen] for chosen in bound.multiselect(label, list(labels), default=default, key=key)]


def seed_list(text: str) -> list[int]:
    """The seeds that a text names, such as "0-5" or "0, 3, 7"; a refusal that says what it should look like."""
    seeds: dict[int, None] = {}
    for part in text.split(","):
        low, dash, high = (piece.strip() for piece in part.partition("-"))
        if not (low.isascii() and low.isdigit()) or (dash and not (high.isascii() and high.isdigit())):
            raise PruneScopeError(f"Seeds is {text!r}; write whole numbers such as 0-5, or 0, 3, 7.")
        first, last = int(low[:9]), int((high or low)[:9])
        if last < first or last - first >= MOST_SEEDS:
            raise PruneScopeError(f"Seeds is {text!r}; {part.strip()} is no range of at most {MOST_SEEDS} seeds.")
        seeds |= dict.fromkeys(range(first, last + 1))
    if len(seeds) > MOST_SEEDS:
        raise PruneScopeError(f"Seeds is {text!r}, which are {len(seeds)} seeds; at most {MOST_SEEDS} at a time.")
    return list(seeds)
