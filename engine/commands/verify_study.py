"""`verify`: is a study what was written?"""

import os
from argparse import ArgumentParser, Namespace, _SubParsersAction

from engine.errors import PruneScopeError
from engine.store import catalog
from engine.store.files import leftovers, remove_leftovers
from engine.store.study import Study
from engine.store.verification.found_whole import changed_runs, keep_whole, run_stamps
from engine.store.verification.verify import set_aside, verify_study


def add(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add `verify`."""
    parser = commands.add_parser("verify", help="check every file of a study and set broken runs aside")
    parser.add_argument("--study", required=True, help="folder of the study")
    parser.add_argument("--keep", action="store_true", help="only say what is broken; change nothing")
    parser.add_argument(
        "--changed", action="store_true", help="look only at runs whose files changed since they were last found whole"
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes that look at runs")
    parser.set_defaults(act=verify)


def verify(options: Namespace) -> int:
    """Name what is broken and set it aside; 1 where anything is."""
    study = Study(options.study)
    if not study.path.is_dir():
        raise PruneScopeError(f"There is no study in {study.path}.")
    if options.workers < 1:
        raise PruneScopeError(f"workers is {options.workers}; allowed is 1 or more.")
    stamps = run_stamps(study)
    looked_at = changed_runs(study, stamps) if options.changed else list(stamps)
    faults, left = verify_study(study, options.workers, looked_at), leftovers(study.path)
    n_runs, n_tables = len(looked_at), len(study.example_sets())
    for fault in faults:
        print(f"{fault.name}: {fault.reason}" + ("" if options.keep else f" -> {set_aside(study, fault)}"))
    if not options.keep:
        remove_leftovers(study.path)
        catalog.refresh(study)
        for name in study.seal_examples() if not faults else ():
            print(f"examples/{name} had no checksum and has one now.")
        broken = {fault.name for fault in faults}
        keep_whole(study, {key: stamp for key, stamp in stamps.items() if f"runs/{key}" not in broken})
    if left:
        print(f"{len(left)} leftovers of killed processes {'are there' if options.keep else 'were removed'}.")
    n_same = f" ({len(stamps) - n_runs} are as they were)" if options.changed else ""
    verdict = f"{len(faults)} broken" if faults else "all whole"
    print(f"{n_runs} runs{n_same} and {n_tables} example tables checked: {verdict}.")
    if (study.path / "broken").is_dir() and faults and not options.keep:
        print("Start the same sweep again to make what was set aside.")
    return 1 if faults else 0
