"""A study as people use it from Python: run, sweep, record, ask, open in the browser."""

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from numpy.typing import ArrayLike

from engine.analysis.columns import CLASS
from engine.analysis.groupings import LEAST
from engine.api.answers import read_examples, read_model
from engine.api.fair_between import left_out_groups, study_noise, study_points
from engine.api.record import record_model
from engine.datasets.location import data_root
from engine.errors import PruneScopeError
from engine.import_path import trusting
from engine.plain_names import check_name
from engine.run_spec import Progress, RunSpec, Watcher
from engine.specs.checks import validate_spec
from engine.specs.preset import Preset
from engine.specs.registration import own_rows
from engine.store.study import Study as RecordedStudy
from engine.study_folders import SOURCE

if TYPE_CHECKING:
    from engine.runs.given_weights import Weights
    from engine.shipping.shipped_record import Shipped
    from engine.sweeps.worker import Result


def _silent(progress: Progress) -> None:
    """Listen to a run, and say nothing."""


class Study(RecordedStudy):
    """A folder of finished runs. What is computed or recorded lies there at once, and the pages show it.

    `data` is the folder of the data sets; without it $PRUNESCOPE_DATA, or a cache folder of the user's.
    """

    def __init__(self, path: str | Path, data: str | Path | None = None) -> None:
        super().__init__(Path(path).expanduser())
        self.data = data_root(str(data) if data else None)

    # -- computing ----------------------------------------------------------------------------------------------

    def run(
        self, spec: RunSpec, device: str = "auto", watch: Watcher = _silent, *, weights: "Weights | None" = None
    ) -> str:
        """Key of the run, computed unless it is there already; `watch` hears of every epoch.

        `weights` is a trained network, its state_dict or a file of that: it is pruned as it is, in the place of a dense
        network that the run would train.
        """
        from engine.runs.given_weights import keep_weights
        from engine.runs.run import run_experiment

        with trusting():
            if weights is not None:
                spec = replace(spec, weights=keep_weights(self, weights))
            return run_experiment(spec, self, self.data, device, watch).key

    def sweep(
        self, specs: Iterable[RunSpec], workers: int = 1, device: str = "auto", watch: Watcher = _silent
    ) -> list["Result"]:
        """How each run that was missing went, computed by so many processes; one worker is this process itself.

        More than one starts the calling script again in each, so that the call belongs under
        `if __name__ == "__main__":`.
        """
        from engine.sweeps.sweep import run_sweep, run_sweep_here
        from engine.sweeps.worker import RunContext

        def listen(event: "Progress | Result") -> None:
            if isinstance(event, Progress):
                watch(event)

        if workers > 1 and multiprocessing.parent_process() is not None:
            raise PruneScopeError(
                "A sweep was started while one of its own processes was starting; put the call under "
                'if __name__ == "__main__":, so that these do not start it again.'
            )
        with trusting():
            checked = tuple(validate_spec(spec) for spec in specs)
            preset = Preset("python", self.path.name, "", checked)
            context = RunContext(self.path, self.data, device, trust=True)
            if workers == 1:
                return run_sweep_here(preset, context, listen)
            own = own_rows(name for spec in checked for name in (spec.dataset, spec.network, spec.technique))
            return run_sweep(preset, replace(context, own=own), workers, listen)

    def ship(
        self,
        run: str,
        level: int,
        to: str | Path,
        *,
        accept: bool = False,
        device: str = "auto",
        decision: str = "",
        watch: Watcher = _silent,
    ) -> "Shipped":
        """Write the model of a run at a level as a folder of files, and return what was proved and measured.

        Weights come from a kept checkpoint, or the run is computed again. Where an answer differs from the record
        nothing is written, unless that is accepted. `decision` is the id of the study's decision that chose it.
        """
        from engine.shipping.shipment import Order, ship

        with trusting():
            order = Order(run, level, Path(to).expanduser(), self.data, device, accept, decision, watch=watch)
            return ship(self, order)

    # -- recording ----------------------------------------------------------------------------------------------

    def record(
        self,
        predictions: ArrayLike,
        labels: ArrayLike,
        *,
        sparsity: float,
        technique: str = "dense",
        seed: int = 0,
        groups: Mapping[str, ArrayLike] | pd.DataFrame | None = None,
        probability: ArrayLike | None = None,
        dataset: str = "own",
        network: str = "model",
        treatment: str = "unstated",
        mitigation: str = "none",
        classes: Sequence[object] | None = None,
    ) -> str:
        """Key of the run that now holds this model's answers; any toolkit may have made them.

        `sparsity` is the share of weights that are cut; the unpruned network has 0 and the technique "dense", and then
        serves every technique of its network and seed. `groups` says of each example to whom it belongs; floats are
        kept as attributes. `probability` is that of the true class. `classes` names all classes where some have no
        example.
        """
        names = {"technique": technique, "network": network, "treatment": treatment, "mitigation": mitigation}
        for role, name in names.items():
            check_name(role, name)
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise PruneScopeError(f"seed is {seed!r}; it should be a whole number, 0 or more.")
        tested = read_examples(dataset, labels, {} if groups is None else groups, classes)
        model = read_model(tested, sparsity, predictions, probability)
        origin: dict[str, Any] = names | {"schedule": "imported", "epochs": 0}
        spec = RunSpec(dataset=dataset, seed=seed, **origin)
        return record_model(self, spec, tested, model)

    # -- asking -------------------------------------------------------------------------------------------------

    def points(self, fair_between: str | Sequence[str] = CLASS, least: int = LEAST) -> pd.DataFrame:
        """The operating points: means over seeds of sparsity, accuracy and each measure of unfairness.

        `fair_between` is "class", a group column such as "writer", or several columns, which are crossed; groups below
        `least` examples are left out. `left_out` names them.
        """
        return study_points(self, fair_between, least)

    def left_out(self, fair_between: str | Sequence[str], least: int = LEAST) -> pd.DataFrame:
        """The groups that `points` leaves out: examples, group, n, reason."""
        return left_out_groups(self, fair_between, least)

    def noise(self, fair_between: str | Sequence[str] = CLASS, least: int = LEAST) -> pd.DataFrame:
        """Beside the gap of each operating point what equal groups would show, and the gap with a held-out order."""
        return study_noise(self, fair_between, least)

    def serve(self, port: int = 8501, open_browser: bool = True) -> None:
        """Open the study in the dashboard, until interrupted."""
        words = ["serve", str(self.path.resolve()), "--port", str(port), *([] if open_browser else ["--no-browser"])]
        paths = [str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])]
        try:
            environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
            subprocess.run([sys.executable, "-m", "engine", *words], env=environment, check=False)
        except KeyboardInterrupt:
            pass  # the server has had it too, and ends
