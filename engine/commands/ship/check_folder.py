"""`check`: is a shipped folder whole, does its model answer as recorded, does its decision stand?"""

from argparse import ArgumentParser, Namespace, _SubParsersAction
from pathlib import Path

from engine.datasets.location import data_root
from engine.store.study import Study


def add(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add `check`."""
    parser = commands.add_parser("check", help="look whether a shipped folder is whole and answers as recorded")
    parser.add_argument("folder", help="folder that `ship` wrote")
    parser.add_argument("--study", help="study in which its decision is kept: is it approved and not superseded?")
    parser.add_argument("--data", help="root of the data sets (default: $PRUNESCOPE_DATA, or a cache folder)")
    parser.set_defaults(act=check_folder)


def check_folder(options: Namespace) -> int:
    """Say what holds and what does not; 1 where anything is wrong."""
    from engine.shipping.check_shipped import check_shipped

    study = Study(Path(options.study).expanduser()) if options.study else None
    checked = check_shipped(Path(options.folder).expanduser(), data_root(options.data), study)
    for sentence in (*checked.right, *checked.unknown, *checked.wrong):
        print(sentence)
    return 1 if checked.wrong else 0
