"""A sweep on Ray: a node that dies midway costs nothing but the runs in flight, and nobody without a token gets in.

`python -m tests.engine.sweeps.test_ray_workers FOLDER` makes a cluster, sweeps on it, kills the node that works.
"""

import builtins
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from engine.errors import PruneScopeError
from engine.run_spec import RunSpec
from engine.specs.checks import validate_spec
from engine.specs.preset import Preset
from engine.store.study import Study
from engine.store.verification.verify import verify_study
from engine.sweeps import ray_workers as cluster
from engine.sweeps.pool import Lost
from engine.sweeps.ray_workers import _import_ray, run_on_ray
from engine.sweeps.sweep import sweep_status
from engine.sweeps.worker import Result, RunContext, execute_run
from tests.support.run_folders import files_of

TOP = Path(__file__).resolve().parents[3]
TINY = validate_spec(RunSpec("digits", "lenet", "global_unstructured", levels=8, epochs=1, batch_size=128))
SPECS = tuple(replace(TINY, seed=seed) for seed in range(3))


def sweep_while_a_node_dies(folder: Path) -> tuple[list[Result], list[str]]:
    """Results of a sweep whose only working node dies in its second run and is replaced, and the runs lost by that."""
    ray = _import_ray("local")
    from ray.cluster_utils import Cluster

    size = {"object_store_memory": cluster.OBJECT_STORE_BYTES, "include_dashboard": False}
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **size})
    doomed = nodes.add_node(num_cpus=1, **size)
    lost: list[str] = []

    def noted(key: str) -> Lost:
        lost.append(key)
        return Lost(key)

    def listen(event: object) -> None:
        if doomed not in nodes.worker_nodes:
            return
        while not (at_work := owners(folder / "claims")):
            time.sleep(0.01)
        # A machine goes down at once: what still runs on the node may not finish while its other processes are ended.
        for process in at_work:
            os.kill(process, signal.SIGSTOP)
        nodes.remove_node(doomed, allow_graceful=False)
        for process in at_work:
            os.kill(process, signal.SIGKILL)
        nodes.add_node(num_cpus=1, **size)

    cluster.Lost = noted  # type: ignore[assignment, misc]
    preset, place = Preset("tiny", "Tiny", "", SPECS), RunContext(folder, folder, "cpu")
    try:
        return run_on_ray(preset, place, nodes.address, listen), lost
    finally:
        ray.shutdown()
        nodes.shutdown()


def owners(claims: Path) -> set[int]:
    """Processes that hold a run's claim."""
    files = [file for spec in SPECS for file in claims.glob(f"{spec.key}.[0-9]")]
    return {json.loads(file.read_text())["process"] for file in files}


@pytest.mark.quiet
@pytest.mark.timeout(300)
def test_a_node_that_dies_midway_costs_no_run(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    command = [sys.executable, "-m", "tests.engine.sweeps.test_ray_workers", str(tmp_path / "ray")]
    done = subprocess.run(command, cwd=TOP, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    states, lost = json.loads(done.stdout.splitlines()[-1])
    assert lost
    assert states.keys() == {spec.key for spec in SPECS} and set(states.values()) <= {"done", "found"}
    for spec in SPECS:
        execute_run(spec, RunContext(tmp_path / "calm", tmp_path, "cpu"))
    assert files_of(Study(tmp_path / "ray")) == files_of(Study(tmp_path / "calm"))
    assert verify_study(Study(tmp_path / "ray")) == []
    assert len(sweep_status(SPECS, Study(tmp_path / "ray")).done) == len(SPECS)


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}


@pytest.mark.parametrize(
    ("address", "given", "token"),
    [("local", {}, "new"), ("local", {"RAY_AUTH_TOKEN": "mine"}, "mine"), ("head:6379", {}, None)],
)
def test_ray_reports_nothing_and_asks_for_a_token(
    monkeypatch: pytest.MonkeyPatch, address: str, given: dict[str, str], token: str | None
) -> None:
    monkeypatch.setattr(os, "environ", {**environment(), **given})
    monkeypatch.setattr(builtins, "__import__", lambda name, *others: type(sys)(name))
    _import_ray(address)
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0" and os.environ["RAY_AUTH_MODE"] == "token"
    seen = os.environ.get("RAY_AUTH_TOKEN")
    assert seen == token if token != "new" else seen is not None and len(seen) == 64


def test_without_ray_the_message_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", environment())
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(PruneScopeError, match="python -m pip install 'ray"):
        run_on_ray(
            Preset("tiny", "Tiny", "", SPECS), RunContext(tmp_path, tmp_path, "cpu"), "local", lambda event: None
        )
    assert list(tmp_path.iterdir()) == []


if __name__ == "__main__":
    came_to, lost_runs = sweep_while_a_node_dies(Path(sys.argv[1]))
    print(json.dumps([{result.key: result.state for result in came_to}, lost_runs]))
