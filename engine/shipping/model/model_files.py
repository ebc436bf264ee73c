"""The files of a model: safetensors with a loader and ONNX; for eight bits torch's own format, and ONNX where equal."""

import io
import warnings
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.export import Dim, export

from engine.networks.compact import compacted
from engine.pruning.techniques import TECHNIQUES
from engine.shipping.model.onnx_file import HOW_TO_INSTALL, missing_packages, onnx_answers, onnx_content, onnx_session
from engine.shipping.model.packaged import Packaged, packaged, sample_images
from engine.shipping.model.plan import plan_of
from engine.shipping.trained import Trained
from engine.training.costs import file_sizes
from engine.training.quantization import exact_integer_products, quantize_network

ONNX = "model.onnx"
NOT_FASTER = (
    "Single weights were cut. Ordinary kernels multiply by zeros all the same, so this model is no faster than the "
    "dense one; its zipped file is smaller. Sparse kernels would be needed, and on a CPU they pay only from about 90 % "
    "zeros, for linear layers."
)
NEEDS_TORCHAO = "Loading model.pt2 needs the package torchao beside torch."
BATCH = 500


@dataclass(frozen=True, eq=False)
class ModelFiles:
    """Files by name, what is to be said of them, the network that they hold, and ONNX Runtime with it, if there is."""

    contents: dict[str, bytes]
    notes: tuple[str, ...]
    network: nn.Module
    counted: nn.Module
    """The network in 32 bits, in which weights and multiplications are counted."""
    n_bytes: int
    session: Any | None = None

    def answers(self, images: Tensor) -> np.ndarray:
        """The class that torch gives each image."""
        with torch.no_grad(), exact_integer_products():
            return np.concatenate([self.network(part).argmax(1).numpy() for part in torch.split(images, BATCH)])


def model_files(trained: Trained) -> ModelFiles:
    """The files of a trained network."""
    return _eight_bits(trained) if trained.quantizes else float_files(trained)


def float_files(trained: Trained) -> ModelFiles:
    """The files of a network in 32 bits, without the channels that do nothing."""
    like = trained.workspace.test
    sample = sample_images(like)
    whole = packaged(trained.network, like)
    assert isinstance(whole, Packaged)
    small = compacted(whole.network, _inputs(whole, sample))
    network = Packaged(small.network, like)
    plan = plan_of(network, sample).content()
    contents = {"model.safetensors": plan, "load_model.py": _text("load_model.txt")}
    notes = [*small.notes, *([NOT_FASTER] if _cuts_single_weights(trained) else [])]
    session, more = _onnx(network, sample)
    if isinstance(more, bytes):
        contents[ONNX] = more
    else:
        notes.append(more)
    return ModelFiles(contents, tuple(notes), network, network, len(plan), session)


def _eight_bits(trained: Trained) -> ModelFiles:
    """The files of a network in eight bits; its ONNX file stays only where it answers as torch does."""
    like = trained.workspace.test
    sample = sample_images(like)
    quantized = quantize_network(trained.network, trained.quantizes, trained.workspace.training)
    network = Packaged(quantized.plain, like)
    contents = {"model.pt2": _pt2(network, sample), "load_model.py": _text("load_quantized.txt")}
    n_bytes = int(file_sizes(quantized.tensors)["bytes"])
    of_torchao = any(type(tensor).__module__.startswith("torchao") for tensor in quantized.plain.state_dict().values())
    notes = (NEEDS_TORCHAO,) if of_torchao else ()
    made = ModelFiles(contents, notes, network, packaged(trained.network, like), n_bytes)
    session, more = _onnx(network, sample)
    if not isinstance(more, bytes):
        return replace(made, notes=(f"The file is torch's own format, model.pt2. {more}", *notes))
    images = like.images.cpu()
    n_other = int((onnx_answers(session, images.numpy()) != made.answers(images)).sum())
    if n_other:
        why = f"ONNX Runtime rounds eight-bit sums otherwise and gives {n_other:,} of {len(images):,} other answers"
        torchs_own = f"The file is torch's own format, model.pt2. There is no ONNX file: {why}."
        return replace(made, notes=(torchs_own, *notes))
    return replace(made, contents={**contents, ONNX: more}, session=session)


def _onnx(network: nn.Module, sample: Tensor) -> tuple[Any | None, bytes | str]:
    """ONNX Runtime with the network and the file, or nothing and the reason why not."""
    if missing := missing_packages():
        return None, f"There is no ONNX file: {', '.join(missing)} missing; {HOW_TO_INSTALL} installs what it needs."
    try:
        content = onnx_content(network, sample)
    except torch.onnx.OnnxExporterError as error:
        first = str(error).strip().splitlines()[-1][:200]
        return None, f"There is no ONNX file: torch cannot write this network as one ({first})."
    return onnx_session(content), content


def _pt2(network: nn.Module, sample: Tensor) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.export.save(export(network, (sample,), dynamic_shapes=({0: Dim("n")},)), buffer)
    return buffer.getvalue()


def _inputs(whole: Packaged, images: Tensor) -> Tensor:
    """What the network inside sees of the images."""
    seen: list[Tensor] = []
    handle = whole.network.register_forward_pre_hook(lambda module, given: seen.append(given[0]))
    with torch.no_grad():
        whole(images)
    handle.remove()
    return seen[0]


def _cuts_single_weights(trained: Trained) -> bool:
    return trained.level > 0 and TECHNIQUES[trained.spec.technique].cuts == "weights"


def _text(name: str) -> bytes:
    return files("engine.shipping.model").joinpath(name).read_bytes()
