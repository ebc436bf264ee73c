"""`data get`: download a data set and check it."""

from argparse import ArgumentParser, Namespace, _SubParsersAction

from engine.datasets.dataset_table import DATASETS, data_root, fetch_dataset


def add(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add `data get`."""
    parser = commands.add_parser("data", help="download data sets")
    actions = parser.add_subparsers(required=True, metavar="get")
    get = actions.add_parser("get", help="download one data set and check it")
    get.add_argument("name", help=", ".join(DATASETS))
    get.add_argument("--data", help="root of the data sets (default: $PRUNESCOPE_DATA, or a cache folder)")
    get.set_defaults(act=get_data)


def get_data(options: Namespace) -> None:
    """Download into the data root."""
    root = data_root(options.data)
    print(f"Fetching {options.name} into {root} ...")
    fetch_dataset(options.name, root)
    print(f"{options.name} is complete.")
