"""`verify`: is a study what was written?"""

from argparse import ArgumentParser, Namespace, _SubParsersAction

from engine.errors import PruneScopeError
from engine.store import catalog
from engine.store.files import leftovers, remove_leftovers
from engine.store.study import Study
from engine.store.verify import set_aside, verify_study


def add(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add `verify`."""
    parser = commands.add_parser("verify", help="check every file of a study and set broken runs aside")
    parser.add_argument("--study", required=True, help="folder of the study")
    parser.add_argument("--keep", action="store_true", help="only say what is broken; change nothing")
    parser.set_defaults(act=verify)


def verify(options: Namespace) -> int:
    """Name what is broken and set it aside; 1 where anything is."""
    study = Study(options.study)
    if not study.path.is_dir():
        raise PruneScopeError(f"There is no study in {study.path}.")
    faults, left = verify_study(study), leftovers(study.path)
    n_runs, n_tables = len(study.runs()), len(study.example_sets())
    for fault in faults:
        print(f"{fault.name}: {fault.reason}" + ("" if options.keep else f" -> {set_aside(study, fault)}"))
    if not options.keep:
        remove_leftovers(study.path)
        catalog.refresh(study)
        for name in study.seal_examples() if not faults else ():
            print(f"examples/{name} had no checksum and has one now.")
    if left:
        print(f"{len(left)} leftovers of killed processes {'are there' if options.keep else 'were removed'}.")
    print(f"{n_runs} runs and {n_tables} example tables checked: {f'{len(faults)} broken' if faults else 'all whole'}.")
    if (study.path / "broken").is_dir() and faults and not options.keep:
        print("Start the same sweep again to make what was set aside.")
    return 1 if faults else 0
