"""How sums are rounded on a CPU: alike on all x86-64 processors, so that a run comes out the same on each of them.

Left to themselves, torch and its libraries add up in whatever order the newest instructions of a processor favour, and
training magnifies the difference.
"""

import os
import platform

import torch

from engine.errors import PruneScopeError

SETTING = "PRUNESCOPE_ARITHMETIC"
PORTABLE, NATIVE = "portable", "native"
LIBRARIES = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_CBWR": "COMPATIBLE"}
"""What torch, oneDNN and MKL read from the environment when they first compute."""


def make_arithmetic_portable() -> None:
    """Make sums come out alike on every processor with AVX2, unless the environment asks for native ones, which are
    faster. What this process has computed before decides otherwise: `processor` says what it came to."""
    asked = os.environ.get(SETTING, PORTABLE)
    if asked not in (PORTABLE, NATIVE):
        raise PruneScopeError(f"{SETTING} is {asked!r}; allowed are {PORTABLE} and {NATIVE}.")
    if asked == PORTABLE and torch.cpu.get_capabilities().get("avx2", False):
        for name, value in LIBRARIES.items():
            os.environ.setdefault(name, value)


def processor(device: str) -> str:
    """The kind of processor behind a device (`cpu`, `cuda`, `mps`), as far as it decides how sums are rounded."""
    if device == "cuda":
        return torch.cuda.get_device_name()
    if device != "cpu":
        return platform.machine()
    used = torch.backends.cpu.get_cpu_capability()
    portable = used == "AVX2" and all(os.environ.get(name) == value for name, value in LIBRARIES.items())
    return f"{platform.machine()} {PORTABLE if portable else used}"


def pick_device(name: str = "auto") -> torch.device:
    """The device asked for, or the best that is there; sets it up to give the same result each time."""
    make_arithmetic_portable()
    available = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if name == "auto":
        name = next(kind for kind, is_there in available.items() if is_there)
    kind = name.split(":")[0]
    if not available.get(kind, False):
        there = ", ".join(kind for kind, is_there in available.items() if is_there)
        raise PruneScopeError(f"Device {name!r} is not on this machine; there is {there}.")
    if kind == "cpu":
        torch.set_num_threads(1)
        torch.set_flush_denormal(True)
    else:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.backends.cudnn.benchmark = False
    torch.set_deterministic_debug_mode("warn")  # as use_deterministic_algorithms, without its import of the compiler
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]  # costs up to a sixth
    return torch.device(name)
