"""Where a run computes, and the scope in which it comes out the same each time and on all x86-64 processors.

Left to themselves, torch and its libraries add up in whatever order the newest instructions of a processor favour, and
training magnifies the difference.
"""

import os
import platform
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch.nn import functional

from engine.errors import PruneScopeError
from engine.specs.arithmetic import NATIVE, PORTABLE, chosen_arithmetic
from engine.training.seeding import kept_random_state

LIBRARIES = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_CBWR": "COMPATIBLE"}
"""What torch, oneDNN and MKL read from the environment when they first compute."""
CUBLAS = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
"""What cuBLAS wants to be told before its sums are the same each time."""

COMPILER = "TORCHINDUCTOR_CACHE_DIR"
"""A variable that torch sets for itself once it has loaded its compiler, as counting operations does."""

_IN_USE = threading.RLock()
"""Held by the thread that is inside `reproducible`: what the scope sets, all threads share."""


@dataclass(frozen=True)
class _Setting:
    """A setting of torch that outlives a call: how it is read and written, and what a run needs it to be."""

    read: Callable[[], Any]
    write: Callable[[Any], object]
    needed: object


def _attribute(owner: object, name: str, needed: object) -> _Setting:
    return _Setting(lambda: getattr(owner, name), lambda value: setattr(owner, name, value), needed)


def flushes_denormals() -> bool:
    """Whether this thread's processor rounds numbers next to zero to zero; torch sets that, and cannot tell."""
    return sys.float_info.min * 0.5 == 0.0


_ALWAYS = (
    # As use_deterministic_algorithms, without its import of the compiler.
    _Setting(torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode, "warn"),
    _attribute(torch.utils.deterministic, "fill_uninitialized_memory", False),  # costs up to a sixth
    _Setting(torch.get_default_dtype, torch.set_default_dtype, torch.float32),
    _Setting(torch.is_grad_enabled, torch.set_grad_enabled, True),
)
_ON_CPU = (
    _Setting(torch.get_num_threads, torch.set_num_threads, 1),
    _Setting(flushes_denormals, torch.set_flush_denormal, True),
)
_ELSEWHERE = (
    _attribute(torch.backends.cudnn, "benchmark", False),
    _attribute(torch.backends.cudnn, "deterministic", True),
)


def pick_device(name: str = "auto") -> torch.device:
    """The device of this name, or the best that this machine has."""
    available = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if name == "auto":
        name = next(kind for kind, is_there in available.items() if is_there)
    if not available.get(name.split(":")[0], False):
        kinds = ", ".join(kind for kind, is_there in available.items() if is_there)
        raise PruneScopeError(f"Device {name!r} is not on this machine; there is {kinds}.")
    return torch.device(name)


@contextmanager
def reproducible(device: torch.device) -> Iterator[None]:
    """Inside, computing on the device gives the same each time; behind it, torch and the environment are as before.

    Scopes may nest. A second thread is refused while one is inside, because most of this holds for the whole process.

    One thing cannot be undone: torch, oneDNN and MKL choose their instructions once, when a process first computes, and
    keep to them. Where that is inside, the process stays with AVX2; where it was before, sums are native inside too,
    and `processor` says so.
    """
    if not _IN_USE.acquire(blocking=False):
        raise PruneScopeError(
            "Another thread of this process is computing, and torch has one set of settings for all threads. "
            "Wait until it is done, or compute in a process of its own, as a sweep does."
        )
    try:
        with ExitStack() as stack:
            portable = _portable_variables()
            stack.enter_context(_variables(portable if device.type == "cpu" else {**portable, **CUBLAS}))
            stack.enter_context(kept_random_state(device))
            for setting in (*_ALWAYS, *(_ON_CPU if device.type == "cpu" else _ELSEWHERE)):
                stack.callback(setting.write, setting.read())
                setting.write(setting.needed)
            if portable:
                _choose_instructions()
            yield
    finally:
        _IN_USE.release()


def processor(device: str) -> str:
    """The kind of processor behind a device (`cpu`, `cuda`, `mps`), as far as it decides how sums are rounded.

    To be asked inside `reproducible`, which tells the libraries.
    """
    if device == "cuda":
        return torch.cuda.get_device_name()
    if device != "cpu":
        return platform.machine()
    used = torch.backends.cpu.get_cpu_capability()
    portable = used == "AVX2" and all(os.environ.get(name) == value for name, value in LIBRARIES.items())
    return f"{platform.machine()} {PORTABLE if portable else used}"


def _portable_variables() -> Mapping[str, str]:
    """What makes sums come out alike on every processor with AVX2, unless the environment asks for native ones."""
    return LIBRARIES if chosen_arithmetic() != NATIVE and torch.cpu.get_capabilities().get("avx2", False) else {}


@contextmanager
def _variables(values: Mapping[str, str]) -> Iterator[None]:
    """The environment with these variables, where it does not have them; without them again behind the scope."""
    absent = {name: value for name, value in values.items() if name not in os.environ}
    leftover = {COMPILER} - set(os.environ)
    try:
        os.environ.update(absent)
        yield
    finally:
        for name in (*absent, *leftover):
            os.environ.pop(name, None)


@cache
def _choose_instructions() -> None:
    """Let each library read its variable now: what a user computes between two scopes must not choose for it."""
    with torch.no_grad():
        images, weight = torch.ones(2, 3, 8, 8), torch.ones(4, 3, 3, 3)
        functional.conv2d(images, weight).flatten(1).mm(torch.ones(144, 8))
