"""What a user's own torch code can tell of its process, before the engine did something there and after it.

`python -m tests.support.networks.torch_state FOLDER plain|peculiar` does all that the engine computes with, for a user
who left torch as it comes or set it up in an own way, and prints as JSON what each act changed.
"""

import hashlib
import importlib
import json
import logging
import os
import pkgutil
import random
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

OTHERS = ("scipy.stats", "statsmodels.api", "threadpoolctl", "sklearn.datasets", "rich.table", "sympy")
"""Libraries that set variables and filters, or draw numbers, when they are imported: that is theirs and comes first."""


def torch_state() -> dict[str, str]:
    """Everything by its name, in words."""
    facts: dict[str, Any] = {
        "threads": torch.get_num_threads(),
        "threads of a new thread": _in_new_thread(torch.get_num_threads),
        "denormals": [(torch.finfo(kind).tiny * torch.full((), 0.5, dtype=kind)).item() for kind in _FLOATS],
        "denormals of Python": sys.float_info.min * 0.5,
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "deterministic debug mode": torch.get_deterministic_debug_mode(),
        "fill_uninitialized_memory": torch.utils.deterministic.fill_uninitialized_memory,  # type: ignore[attr-defined]
        "cudnn": [getattr(torch.backends.cudnn, name) for name in ("enabled", "benchmark", "deterministic")],
        "default dtype": torch.get_default_dtype(),
        "default device": torch.get_default_device(),
        "matmul precision": torch.get_float32_matmul_precision(),
        "gradients": (torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_anomaly_enabled()),
        "autocast": torch.is_autocast_enabled("cpu"),
        "seed": torch.initial_seed(),
        "next numbers": _next_numbers(),
        "numpy's numbers": _digest(str(np.random.get_state()).encode()),
        "Python's numbers": _digest(str(random.getstate()).encode()),
        "warnings": warnings.filters,
        "quantized engine": torch.backends.quantized.engine,
        "integer kernels": torch._C._dispatch_dump("aten::_int_mm"),
        "logging": (logging.root.manager.disable, logging.root.level, logging.root.handlers),
        "interrupt": signal.getsignal(signal.SIGINT),
        "own computing": _own_computing(),
    }
    facts |= {f"environment: {name}": value for name, value in os.environ.items()}
    return {name: str(value) for name, value in facts.items()}


_FLOATS = (torch.float32, torch.float64)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _in_new_thread(act: Callable[[], int]) -> int:
    answers: list[int] = []
    thread = threading.Thread(target=lambda: answers.append(act()))
    thread.start()
    thread.join()
    return answers[0]


def _next_numbers() -> list[float]:
    """What torch.rand gives next, without taking it."""
    state = torch.get_rng_state()
    numbers: list[float] = torch.rand(3).tolist()
    torch.set_rng_state(state)
    return numbers


def _own_computing() -> str:
    """Digest of a user's convolution, product, sum of integers and gradient."""
    draw = torch.Generator().manual_seed(1)
    with torch.enable_grad():
        images, weight = (torch.randn(shape, generator=draw) for shape in ((8, 3, 24, 24), (16, 3, 3, 3)))
        weight.requires_grad_(True)
        sums = functional.conv2d(images, weight).flatten(1)
        (gradient,) = torch.autograd.grad((sums @ sums.T).log_softmax(1).sum(), weight)
    whole = torch.randint(-128, 128, (40, 40), dtype=torch.int8, generator=draw)
    return _digest(gradient.numpy().tobytes() + torch._int_mm(whole, whole).numpy().tobytes())


# -- what the engine does ---------------------------------------------------------------------------------------------


def import_everything(folder: Path) -> None:
    import engine

    for module in pkgutil.walk_packages(engine.__path__, "engine."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def _run(folder: Path, **settings: Any) -> str:
    from engine.run_spec import RunSpec
    from engine.runs.run import run_experiment
    from engine.store.study import Study

    spec = RunSpec("digits", "lenet", "global_unstructured", "finetune", levels=1, epochs=1, batch_size=64)
    return run_experiment(replace(spec, **settings), Study(folder / "study"), folder, "cpu").key


def run_digits(folder: Path) -> None:
    _run(folder, epochs=2, diagnose=("class",), mitigation="after", keep_checkpoints=True)


def run_quantized(folder: Path) -> None:
    for technique in ("int8_dynamic", "int8_static"):
        _run(folder, technique=technique)


def run_that_fails(folder: Path) -> None:
    from engine.errors import PruneScopeError

    try:
        _run(folder, learning_rate=1e30)
    except PruneScopeError as error:
        assert "diverged" in str(error)
    else:
        raise AssertionError("the run did not fail")


def estimate(folder: Path) -> None:
    assert "measured" in next(_lines(folder)) and len(list(_lines(folder))) == 2


_OPEN: list[object] = []


def estimate_that_nobody_finishes(folder: Path) -> None:
    """Its lines are asked for one by one; the scope must not stay open between them."""
    lines = _lines(folder)
    next(lines)
    _OPEN.append(lines)


def _lines(folder: Path) -> Any:
    from engine.run_spec import RunSpec
    from engine.sweeps.estimate import estimate

    return estimate([RunSpec("digits", "lenet", "global_unstructured", levels=1, epochs=1)], folder, "cpu", 1)


def reproduce(folder: Path) -> None:
    from engine.commands import main

    key = _run(folder, seed=1)
    assert main(["rebuild", key, "--study", str(folder / "study"), "--device", "cpu"]) == 0


ACTS: dict[str, Callable[[Path], None]] = {
    act.__name__: act
    for act in (
        import_everything,
        estimate,
        estimate_that_nobody_finishes,
        run_digits,
        run_quantized,
        run_that_fails,
        reproduce,
    )
}


# -- the user ---------------------------------------------------------------------------------------------------------


def be_peculiar() -> None:
    """A user who has set up torch otherwise than it comes and than the engine wants it."""
    torch.set_num_threads(3)
    torch.set_flush_denormal(True)
    torch.set_deterministic_debug_mode("error")
    torch.utils.deterministic.fill_uninitialized_memory = True  # type: ignore[attr-defined]
    torch.backends.cudnn.benchmark = True
    torch.set_default_dtype(torch.float64)
    torch.set_grad_enabled(False)
    torch.manual_seed(7)
    warnings.simplefilter("once")
    os.environ["MKL_CBWR"] = "AUTO"


def changes(folder: Path) -> dict[str, dict[str, tuple[str, str]]]:
    """Of each act, what differed behind it: before and after."""
    changed = {}
    for name, act in ACTS.items():
        before = torch_state()
        act(folder)
        after = torch_state()
        pairs = {fact: (before.get(fact, "absent"), after.get(fact, "absent")) for fact in before | after}
        changed[name] = {fact: pair for fact, pair in pairs.items() if pair[0] != pair[1]}
    return changed


if __name__ == "__main__":
    for library in OTHERS:
        importlib.import_module(library)
    if sys.argv[2] == "peculiar":
        be_peculiar()
    print(json.dumps(changes(Path(sys.argv[1]))))
