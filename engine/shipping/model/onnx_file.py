"""The model as one ONNX file, and what ONNX Runtime answers with it."""

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.export import Dim

from engine.shipping.model.plan import INPUT

OUTPUT = "scores"
NEEDED = ("onnx", "onnxscript", "onnxruntime")
HOW_TO_INSTALL = 'pip install "prunescope[ship]"'


def missing_packages() -> list[str]:
    """What is not installed of all that an ONNX file needs to be written and tried."""
    return [name for name in NEEDED if find_spec(name) is None]


def onnx_content(network: nn.Module, images: Tensor) -> bytes:
    """The network as an ONNX file that takes batches of such images, however many."""
    with _quiet():
        program = torch.onnx.export(
            network,
            (images,),
            None,
            dynamo=True,
            dynamic_shapes=({0: Dim("n")},),
            input_names=[INPUT],
            output_names=[OUTPUT],
        )
    assert program is not None, "the exporter gives its program where it writes no file"
    content: bytes = program.model_proto.SerializeToString()
    return content


def onnx_session(content: bytes) -> Any:
    """ONNX Runtime with this file, on one thread of the processor."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def onnx_answers(session: Any, images: np.ndarray, batch_size: int = 500) -> np.ndarray:
    """The class that ONNX Runtime gives each image."""
    parts = [
        session.run([OUTPUT], {INPUT: images[first : first + batch_size]})[0].argmax(1)
        for first in range(0, len(images), batch_size)
    ]
    return np.concatenate(parts)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what the exporter says of itself."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
