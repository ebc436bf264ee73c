"""A sweep on a Ray cluster: the same run function as Ray Core tasks, a window of them at a time.

Only specs and paths travel; results go straight to the study, which lies on storage that all nodes share.
"""

import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import engine
from engine.errors import PruneScopeError
from engine.run_spec import RunSpec
from engine.specs.preset import Preset
from engine.store.study import Study
from engine.sweeps.pool import Event, Lost
from engine.sweeps.sweep import Listener, prepare_study, work_through
from engine.sweeps.worker import Result, RunContext, execute_run

GPU_SHARE = 0.25
"""Part of a GPU that one run takes: networks this small leave one mostly idle."""

OBJECT_STORE_BYTES = 100_000_000


def run_on_ray(preset: Preset, context: RunContext, address: str, listen: Listener) -> list[Result]:
    """What each missing run came to, worked through by a Ray cluster: the one at this address, or a new `local` one."""
    ray = _import_ray(address)
    study = Study(context.study)
    prepare_study(study, preset)
    options: dict[str, Any] = {"include_dashboard": False, "object_store_memory": OBJECT_STORE_BYTES}
    if address != "local":
        options = {"runtime_env": {"py_modules": [str(Path(engine.__file__).parent)]}}
    try:
        ray.init(address, **options, log_to_driver=False, logging_level="error")
    except (ConnectionError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        raise PruneScopeError(f"The Ray cluster at {address!r} cannot be reached: {error}") from error
    return work_through(preset.specs, study, _RayWorkers(ray, context), listen)


class _RayWorkers:
    """Ray's workers: as many runs at a time as there is room for, and as many again waiting."""

    def __init__(self, ray: Any, context: RunContext) -> None:
        self._ray, self._place = ray, context
        on_gpu = context.device != "cpu" and ray.cluster_resources().get("GPU", 0) > 0
        self._share: dict[str, float] = {"num_gpus": GPU_SHARE, "num_cpus": 0} if on_gpu else {"num_cpus": 1}
        # Lost workers are the sweep's to retry: it knows which runs have been finished since.
        self._task = ray.remote(**self._share, max_retries=0, max_calls=0)(execute_run)
        self._out: dict[Any, str] = {}

    def idle(self) -> int:
        """Number of tasks that the window still takes."""
        kind, share = ("GPU", self._share["num_gpus"]) if "num_gpus" in self._share else ("CPU", 1)
        room = int(self._ray.cluster_resources().get(kind, 0) / share)
        return max(0, 2 * max(1, room) - len(self._out))

    def hand_out(self, spec: RunSpec) -> None:
        """Submit a run."""
        self._out[self._task.remote(spec, self._place)] = spec.key

    def events(self, seconds: float) -> Iterator[Event]:
        """What came back within this time."""
        ready, _ = self._ray.wait(list(self._out), num_returns=1, timeout=seconds) if self._out else ([], [])
        for task in ready:
            key = self._out.pop(task)
            try:
                yield self._ray.get(task)
            except self._ray.exceptions.RayTaskError as error:  # such as an engine that the node cannot import
                yield Result(key, "failed", str(error))
            except self._ray.exceptions.RayError:
                yield Lost(key)

    def halve(self) -> int:
        """Give each run twice the part of a GPU; how many each has then, or 0 where they have one to themselves."""
        share = 2 * self._share.get("num_gpus", 1)
        if share > 1:
            return 0
        self._share["num_gpus"] = share
        self._task = self._task.options(num_gpus=share)
        return int(1 / share)

    def close(self) -> None:
        """Leave the cluster; a local one ends, and tasks of ours on another do."""
        self._ray.shutdown()


def _import_ray(address: str) -> Any:
    """Ray, told before it loads to report nothing and to let nobody in without a token."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_AUTH_MODE"] = "token"
    if address == "local" and not os.environ.get("RAY_AUTH_TOKEN_PATH"):
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    try:
        import ray
        import ray.exceptions
    except ImportError as error:
        raise PruneScopeError("Ray is not installed; get it with: python -m pip install 'ray>=2.52'") from error
    return ray
