"""The network of a run at a level: from the checkpoint that was kept, or computed again from the run's settings."""

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from safetensors.torch import load
from torch import Tensor, nn

from engine.errors import PruneScopeError
from engine.pruning.techniques import TECHNIQUES
from engine.run_spec import RunSpec, Watcher
from engine.runs.dense import dense_network
from engine.runs.reproduce import reproduction_spec, same_labels
from engine.runs.run import run_experiment
from engine.runs.workspace import Workspace, open_workspace
from engine.specs.arithmetic import as_recorded
from engine.store.run_files import checkpoint_name
from engine.store.study import Study, examples_name
from engine.training.device import pick_device, reproducible


@dataclass(frozen=True, eq=False)
class Trained:
    """A network of a study with its weights, and the data that it was trained and tested on."""

    spec: RunSpec
    level: int
    network: nn.Module
    workspace: Workspace
    computed: bool
    """Whether it was computed again."""

    @property
    def quantizes(self) -> str:
        """The way in which this level was put into eight bits; empty where it was not."""
        return TECHNIQUES[self.spec.technique].quantizes if self.level else ""


def trained_network(
    study: Study, run: str, level: int, root: Path, device: str = "auto", watch: Watcher = lambda progress: None
) -> Trained:
    """The network of a run at a level; refused where run, level or data are not what they should be."""
    spec = reproduction_spec(study, run, None)
    levels = study.prediction_matrix(run)[0].tolist()
    if level not in levels:
        raise PruneScopeError(f"Run {run} has no level {level}; it has {min(levels)} to {max(levels)}.")
    record = study.run_record(run)
    with reproducible(pick_device(device)):
        workspace = open_workspace(spec, root, device)
    same_labels(study, examples_name(spec), workspace.dataset.test.labels)
    if checkpoint_name(level) in record.files:
        weights = _weights(study.run_file(run, checkpoint_name(level), record))
        computed = False
    else:
        weights = _computed(study, run, level, root, device, watch)
        computed = True
    network = workspace.new_network(spec)
    network.load_state_dict(weights)
    return Trained(spec, level, network.eval(), workspace, computed)


def again_spec(study: Study, run: str, level: int) -> RunSpec:
    """The spec that computes the run again up to this level, and keeps the weights."""
    return replace(reproduction_spec(study, run, max(level, 1)), keep_checkpoints=True)


def untrained(trained: Trained) -> Trained:
    """The same network before anything was cut: what the dense one costs."""
    return replace(trained, level=0, network=trained.workspace.new_network(trained.spec).eval())


def _computed(study: Study, run: str, level: int, root: Path, device: str, watch: Watcher) -> dict[str, Tensor]:
    """The weights of a level, by computing the run again up to it, aside."""
    made = study.run_record(run).provenance
    with tempfile.TemporaryDirectory() as folder, as_recorded(made):
        aside = Study(folder)
        if level == 0:
            spec = reproduction_spec(study, run)
            with reproducible(pick_device(device)):
                return dense_network(spec, aside, open_workspace(spec, root, device), watch).trained
        key = run_experiment(again_spec(study, run, level), aside, root, device, watch).key
        return _weights(aside.run_file(key, checkpoint_name(level)))


def _weights(content: bytes) -> dict[str, Tensor]:
    return {name.removeprefix("weights/"): tensor for name, tensor in load(content).items()}
