"""`sweep plan`, `sweep status` and `sweep run`: many runs at once."""

import sys
import time
from argparse import ArgumentParser, Namespace, _SubParsersAction
from pathlib import Path

from engine.commands.progress import sweep_display
from engine.commands.trust import add_trust
from engine.datasets.dataset_table import data_root
from engine.pruning.schedules import planned_levels
from engine.specs.preset import load_preset, preset_names
from engine.store.study import Study
from engine.sweeps.sweep import run_sweep, sweep_status
from engine.sweeps.worker import RunContext
from engine.sweeps.worker_count import default_workers


def add(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the three."""
    parser = commands.add_parser("sweep", help="plan, run and watch many runs")
    actions = parser.add_subparsers(required=True, metavar="plan|status|run")
    for name, act, text in (
        ("plan", plan, "how many runs and models a preset is, what is there, how long it takes"),
        ("status", status, "how far a sweep is"),
        ("run", run, "do what is missing; start it again to go on"),
    ):
        action = actions.add_parser(name, help=text)
        action.add_argument("preset", help=f"a TOML file, or one of {', '.join(preset_names())}")
        _add_place(action, needs_study=name != "plan")
        action.set_defaults(act=act)
    action.add_argument(
        "--workers", type=int, default=0, help="processes (default: one per core, or as many as the GPUs' memory holds)"
    )
    action.add_argument("--ray", metavar="ADDRESS", help="run on a Ray cluster: its address, or `local`")


def _add_place(parser: ArgumentParser, needs_study: bool) -> None:
    parser.add_argument("--study", required=needs_study, help="folder of the study")
    parser.add_argument("--data", help="root of the data sets (default: $PRUNESCOPE_DATA, or a cache folder)")
    parser.add_argument("--device", default="auto", help="cuda, mps, cpu or auto")
    add_trust(parser)


def _place(options: Namespace) -> RunContext:
    root = data_root(options.data).resolve()
    return RunContext(Path(options.study).resolve(), root, options.device, options.trust)


def plan(options: Namespace) -> None:
    """Print how large a sweep is and how long it takes here."""
    preset = load_preset(options.preset)
    finished = set(Study(options.study).runs()) if options.study else set()
    missing = [spec for spec in preset.specs if spec.key not in finished]
    models = sum(len(planned_levels(spec)) + 1 for spec in preset.specs)
    print(f"{preset.title}: {len(preset.specs):,} runs, {models:,} models.")
    if options.study:
        print(f"{len(preset.specs) - len(missing):,} runs are there already, {len(missing):,} are missing.", flush=True)
    if missing:
        from engine.sweeps.estimate import estimate

        workers = default_workers(options.device)
        for line in estimate(missing, data_root(options.data), options.device, workers, preset.names):
            print(line, flush=True)


def status(options: Namespace) -> None:
    """Print where a sweep stands."""
    state = sweep_status(load_preset(options.preset).specs, Study(options.study))
    counts = {name: len(getattr(state, name)) for name in ("done", "failed", "running", "pending")}
    print(f"{state.planned} planned = " + " + ".join(f"{n} {name}" for name, n in counts.items()))


def run(options: Namespace) -> int:
    """Do what is missing; 1 where a run failed."""
    preset, context, begun = load_preset(options.preset), _place(options), time.monotonic()
    try:
        with sweep_display(preset, Study(context.study)) as listen:
            if options.ray:
                from engine.sweeps.ray_workers import run_on_ray

                results = run_on_ray(preset, context, options.ray, listen)
            else:
                results = run_sweep(preset, context, options.workers or None, listen)
    except KeyboardInterrupt:
        print("Stopped. Start the same command again to go on: finished runs and levels are kept.", file=sys.stderr)
        return 130
    failed: dict[str, list[str]] = {}
    for result in results:
        if result.state == "failed":
            failed.setdefault(result.reason.strip(), []).append(result.key)
    for reason, keys in failed.items():
        named = ", ".join(keys if len(keys) < 4 else [*keys[:3], "..."])
        print(f"{_runs(len(keys))} failed ({named}): {reason}", file=sys.stderr)
    done, n_failed = sum(result.state == "done" for result in results), sum(map(len, failed.values()))
    took = f"{time.monotonic() - begun:.0f} s"
    print(f"{_runs(done)} computed, {n_failed} failed, in {took}; kept in {options.study}.")
    return 1 if failed else 0


def _runs(n: int) -> str:
    return f"{n:,} run{'s' * (n != 1)}"
