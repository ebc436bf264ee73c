"""Which experiment a page shows: the short name of each, and the pickers that choose one."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import astuple
from types import MappingProxyType

from pages.shared import bound, formats
from pages.shared.cache import catalog
from pages.shared.cache.catalog import Experiment, Source
from pages.shared.cache.kept import kept
from pages.shared.names import dataset_name, network_name
from pages.shared.protocol import protocol_name


def choose_experiment(source: Source, experiments: list[Experiment]) -> Experiment:
    """The experiment that the three pickers name; each offers only what the ones above leave.

    Links of earlier versions have the protocol in full where others have the experiment's name.
    """

    called = experiment_names(source)

    def pick(label: str, key: str, options: list[str], text: str, old: Mapping[str, str] = MappingProxyType({})) -> str:
        return str(bound.selectbox(label, list(dict.fromkeys(options)), key=key, help=text, old=old))

    data = pick("Data set", "dataset", [data_label(e) for e in experiments], "Data set and how it is split.")
    left = [e for e in experiments if data_label(e) == data]
    networks = [network_name(e.network) for e in left]
    chosen = pick("Network", "network", networks, "The network that was pruned.")
    left = [e for e in left if network_name(e.network) == chosen]
    full = "\n\n".join(f"**{formats.plain(called[e])}**: {formats.plain(e.protocol)}" for e in left)
    name = pick(
        "Experiment",
        "protocol",
        [called[e] for e in left],
        f"How long the networks trained and how they were pruned; in full:\n\n{full}",
        {e.protocol: called[e] for e in left},
    )
    return next(e for e in left if called[e] == name)


def experiment_names(source: Source) -> dict[Experiment, str]:
    """A short name of each experiment: the study's own, else one made of its protocol.

    Among experiments of one data set, split and network, where names are chosen from, one that two share gives way to
    the protocol in full.
    """
    own = catalog.short_names(source)
    return kept(source, "experiment names", tuple(own.items()), lambda: _named(source, own))


def _named(source: Source, own: Mapping[tuple[str, ...], str]) -> dict[Experiment, str]:
    names = {e: own.get(astuple(e)) or protocol_name(spec) for e, spec in catalog.specs(source).items()}
    n = Counter((e.dataset, e.split, e.network, name) for e, name in names.items())
    return {e: name if n[e.dataset, e.split, e.network, name] == 1 else e.protocol for e, name in names.items()}


def data_label(experiment: Experiment) -> str:
    """Data set and split of an experiment: "QMNIST (writers)"."""
    return dataset_name(experiment.dataset, experiment.split)
