"""A pruned network in ONNX Runtime, compacted and with its zeros in place: one thread, turn by turn, medians.

ResNet-18 on 64 x 64 images and LeNet on batches of 256, each with half of its input channels cut. The masked network is
as slow as a dense one.
"""

import statistics
import tempfile
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from engine.networks.compact import compacted
from engine.networks.network_table import NETWORKS
from engine.pruning.masks import Cut, apply_masks, cut_masks, full_masks, prunable
from engine.pruning.techniques import TECHNIQUES
from engine.training.seeding import generator


@dataclass(frozen=True)
class Case:
    """A network, the shape of what it is shown, how often, and how many times as fast it should be."""

    network: str
    shape: tuple[int, int, int, int]
    n_turns: int
    at_least: float


CASES = (Case("resnet18", (1, 3, 64, 64), 40, 1.8), Case("lenet", (256, 1, 28, 28), 200, 1.3))


def run() -> float:
    """How many times as fast the compacted network is: the smaller of both cases."""
    return min(_ratio(case) for case in CASES)


def _ratio(case: Case) -> float:
    torch.manual_seed(0)
    _, channels, side, _ = case.shape
    masked = NETWORKS[case.network].build(channels, side, 10).eval()
    cut = Cut(TECHNIQUES["l1_structured"], 0.5, generator(0, 1, "prune"))
    apply_masks(masked, cut_masks(prunable(masked), full_masks(masked), cut))
    images = torch.randn(case.shape)
    small = compacted(masked, images[:1].expand(2, -1, -1, -1)).network
    seconds = _seconds({"masked": masked, "compacted": small}, images, case.n_turns)
    medians = {name: statistics.median(turns) for name, turns in seconds.items()}
    for name, turns in seconds.items():
        low, high = (1e3 * quantile for quantile in statistics.quantiles(turns, n=10)[::8])
        print(f"{case.network}, {name}: {1e3 * medians[name]:.2f} ms (tenths {low:.2f} to {high:.2f})")
    ratio = medians["masked"] / medians["compacted"]
    print(f"{case.network}, batch {case.shape[0]}: {ratio:.2f} times as fast; at least {case.at_least}")
    return ratio


def _seconds(networks: Mapping[str, nn.Module], images: Tensor, n_turns: int) -> dict[str, list[float]]:
    """Seconds of each network's every turn; they take turns, so that a busy machine slows all alike."""
    seconds: dict[str, list[float]] = {name: [] for name in networks}
    with tempfile.TemporaryDirectory() as folder:
        sessions = {name: _session(network, images, Path(folder) / name) for name, network in networks.items()}
        answers = {name: session.run(None, {"images": images.numpy()})[0] for name, session in sessions.items()}
        np.testing.assert_allclose(answers["compacted"], answers["masked"], rtol=1e-4, atol=1e-5)
        for _ in range(n_turns):
            for name, session in sessions.items():
                begun = time.process_time()
                session.run(None, {"images": images.numpy()})
                seconds[name].append(time.process_time() - begun)
    return seconds


def _session(network: nn.Module, images: Tensor, path: Path) -> Any:
    """The network in ONNX Runtime, on one thread."""
    import onnxruntime

    batch = {0: torch.export.Dim("batch")}
    sample = images[:2] if len(images) > 1 else images.expand(2, -1, -1, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the exporter says of its own future
        torch.onnx.export(
            network,
            (sample.contiguous(),),
            str(path),
            dynamo=True,
            dynamic_shapes=(batch,),
            external_data=False,
            input_names=["images"],
            verbose=False,
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
