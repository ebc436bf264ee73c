"""Does LeNet learn: dense accuracy on the real files, MNIST in 5 epochs, Fashion-MNIST in 10.

The number at the end is the smaller of reached / wanted.
"""

import tempfile
from pathlib import Path

from engine.datasets.dataset_table import data_root
from engine.run_spec import RunSpec
from engine.runs.dense import dense_network
from engine.runs.workspace import open_workspace
from engine.specs.checks import validate_spec
from engine.store.study import Study
from engine.training.device import reproducible

WANTED = {("mnist", 5): 0.97, ("fashion-mnist", 10): 0.85}


def run() -> float:
    ratios = []
    for (dataset, epochs), wanted in WANTED.items():
        spec = validate_spec(RunSpec(dataset, "lenet", "global_unstructured", epochs=epochs))
        workspace = open_workspace(spec, data_root(), "cpu")
        with tempfile.TemporaryDirectory() as folder, reproducible(workspace.device):
            result = dense_network(spec, Study(Path(folder)), workspace, lambda progress: None).result
        accuracy = float((result.prediction == workspace.dataset.test.labels).mean())
        print(f"{dataset}: {accuracy:.1%} after {epochs} epochs; wanted {wanted:.0%}")
        ratios.append(accuracy / wanted)
    return min(ratios)
