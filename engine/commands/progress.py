"""How runs and sweeps look while they compute: live lines at a terminal, a line per run of a sweep elsewhere."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from engine.pruning.schedules import n_epochs_after, planned_levels
from engine.run_spec import Progress, RunSpec, Watcher
from engine.specs.preset import Preset
from engine.store.study import Study
from engine.sweeps.sweep import Listener
from engine.sweeps.worker import Result


def wide_console() -> Console:
    """A console for tables: as wide as the terminal, or wide enough for whole rows in a file or a pipe."""
    return Console() if Console().is_terminal else Console(width=240)


@contextmanager
def run_display(spec: RunSpec, console: Console) -> Iterator[Watcher]:
    """A watcher that shows what it hears: the level of a run, epochs, time left."""
    bars = Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f} epochs"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
    )
    after = n_epochs_after(spec)
    with bars:
        task = bars.add_task(f"run {spec.key}", total=spec.epochs + len(planned_levels(spec)) * after)

        def watch(progress: Progress) -> None:
            before = spec.epochs + (progress.level - 1) * after if progress.level else 0
            level = f"run {spec.key} level {progress.level}/{progress.n_levels}"
            accuracy = "" if progress.accuracy != progress.accuracy else f", accuracy {progress.accuracy:.1%}"
            bars.update(task, completed=before + progress.epoch, description=level + accuracy)

        yield watch


@contextmanager
def sweep_display(preset: Preset, study: Study) -> Iterator[Listener]:
    """A listener that shows what it hears: runs, levels, throughput, time left."""
    console = Console()
    recorded = set(study.runs())
    n_recorded = sum(spec.key in recorded for spec in preset.specs)
    by_key = {spec.key: spec for spec in preset.specs}
    bars = Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        speed_estimate_period=3600,
        disable=not console.is_terminal,
    )
    begun, finished, reached = time.monotonic(), n_recorded, dict.fromkeys(by_key, 0)

    with bars:
        total = sum(len(planned_levels(spec)) + 1 for spec in preset.specs if spec.key not in recorded)
        runs = bars.add_task("runs", total=len(preset.specs), completed=n_recorded, rate="")
        levels = bars.add_task("levels", total=total, rate="")

        def reach(key: str, level: int) -> None:
            reached[key] = max(reached[key], level)
            n_levels = sum(reached.values())
            rate = 60 * n_levels / (time.monotonic() - begun)
            bars.update(levels, completed=n_levels, rate=f"{rate:.1f} levels/min")

        def listen(event: Progress | Result) -> None:
            nonlocal finished
            if isinstance(event, Progress):
                reach(event.run, event.level + (event.epoch == event.n_epochs))
                return
            spec = by_key[event.key]
            words = f"{spec.dataset} {spec.network} {spec.technique} {spec.treatment} seed {spec.seed}"
            if event.state == "crowded":
                console.print(f"{event.key} waits {words}. {event.reason}", soft_wrap=True, markup=False)
                return
            if event.key not in recorded:
                finished += 1
                reach(event.key, len(planned_levels(spec)) + 1)
            bars.update(runs, completed=finished)
            console.print(
                f"{finished}/{len(preset.specs)} {event.key} {event.state} {words} "
                f"{event.seconds:.0f} s {event.reason.strip().splitlines()[-1] if event.reason else ''}",
                soft_wrap=True,
                markup=False,
                highlight=False,
            )

        yield listen
