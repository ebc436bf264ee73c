"""How long a job would take here, measured by a child, because measuring needs what pages never load."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from engine.run_spec import RunSpec, settings, spec_from_settings

TOP = Path(__file__).resolve().parents[2]


class Estimating:
    """One estimate, begun when this is made; its lines grow while it goes on."""

    def __init__(self, specs: Sequence[RunSpec], data: str, workers: int = 0, device: str = "auto") -> None:
        self.lines: list[str] = []
        self._asked = json.dumps({"runs": [*map(settings, specs)], "data": data, "workers": workers, "device": device})
        self._child = subprocess.Popen(
            [sys.executable, "-m", "engine.jobs.job_estimate"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=TOP,
            env=os.environ | {"PYTHONPATH": str(TOP)},
            text=True,
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def is_running(self) -> bool:
        """Whether more may come."""
        return self._listener.is_alive()

    @property
    def total(self) -> str:
        """The line on the whole; empty while it is not known."""
        return next((line for line in self.lines if line.startswith("About ")), "")

    def wait(self, seconds: float) -> bool:
        """Wait until it is finished, at most so long; whether it is."""
        self._listener.join(seconds)
        return not self.is_running

    def end(self) -> None:
        """Measure no further: whoever asked wants something else, or begins."""
        self._child.kill()

    def _listen(self) -> None:
        assert self._child.stdin is not None and self._child.stdout is not None
        try:
            with self._child.stdin as asked:
                asked.write(self._asked)
        except OSError:
            pass  # it was ended before it heard
        with self._child.stdout as heard:
            for line in heard:
                self.lines.append(line.strip())
        self._child.wait()


def main() -> None:
    """Read what is asked from the standard input and print what `estimate` says."""
    from engine.sweeps.estimate import estimate
    from engine.sweeps.worker_count import default_workers

    asked = json.load(sys.stdin)
    specs = [spec_from_settings(run) for run in asked["runs"]]
    workers = asked["workers"] or default_workers(asked["device"])
    for line in estimate(specs, Path(asked["data"]), asked["device"], workers):
        print(line, flush=True)


if __name__ == "__main__":
    main()
