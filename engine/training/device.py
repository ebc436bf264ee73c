"""How sums are rounded on a CPU: alike on all x86-64 processors, so that a run comes out the same on each of them.

Left to themselves, torch and its libraries add up in whatever order the newest instructions of a processor favour, and
training magnifies the difference. Nothing here loads torch before it is called.
"""

import os
import platform

from engine.run_spec import PruneScopeError

SETTING = "PRUNESCOPE_ARITHMETIC"
PORTABLE, NATIVE = "portable", "native"
LIBRARIES = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_CBWR": "COMPATIBLE"}
"""What torch, oneDNN and MKL read from the environment when they first compute."""


def make_arithmetic_portable() -> None:
    """Make sums come out alike on every processor with AVX2, unless the environment asks for native ones, which are
    faster. What this process has computed before decides otherwise: `processor` says what it came to."""
    import torch

    asked = os.environ.get(SETTING, PORTABLE)
    if asked not in (PORTABLE, NATIVE):
        raise PruneScopeError(f"{SETTING} is {asked!r}; allowed are {PORTABLE} and {NATIVE}.")
    if asked == PORTABLE and torch.cpu.get_capabilities().get("avx2", False):
        for name, value in LIBRARIES.items():
            os.environ.setdefault(name, value)


def processor(device: str) -> str:
    """The kind of processor behind a device (`cpu`, `cuda`, `mps`), as far as it decides how sums are rounded."""
    import torch

    if device == "cuda":
        return torch.cuda.get_device_name()
    if device != "cpu":
        return platform.machine()
    used = torch.backends.cpu.get_cpu_capability()
    portable = used == "AVX2" and all(os.environ.get(name) == value for name, value in LIBRARIES.items())
    return f"{platform.machine()} {PORTABLE if portable else used}"
