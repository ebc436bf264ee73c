"""`data get`: download a data set and check it. `data images`: lay its test images into a study."""

from argparse import ArgumentParser, Namespace, _SubParsersAction

from engine.datasets.dataset_table import DATASETS, Request, data_root, fetch_dataset, load_dataset
from engine.errors import PruneScopeError
from engine.store.images import images_name, write_images
from engine.store.study import Study


def add(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add `data get` and `data images`."""
    parser = commands.add_parser("data", help="download data sets, lay test images into a study")
    actions = parser.add_subparsers(required=True, metavar="get|images")
    get = actions.add_parser("get", help="download one data set and check it")
    get.add_argument("name", help=", ".join(DATASETS))
    get.add_argument("--data", help="root of the data sets (default: $PRUNESCOPE_DATA, or a cache folder)")
    get.set_defaults(act=get_data)
    images = actions.add_parser("images", help="lay a data set's test images into a study, for machines without it")
    images.add_argument("name", help=", ".join(name for name, row in DATASETS.items() if row.may_ship))
    images.add_argument("--study", required=True, help="folder of the study")
    images.add_argument("--split", default="", help="split of the data set; each has its default")
    images.add_argument("--data", help="root of the data sets (default: $PRUNESCOPE_DATA, or a cache folder)")
    images.set_defaults(act=lay_images)


def get_data(options: Namespace) -> None:
    """Download into the data root."""
    root = data_root(options.data)
    print(f"Fetching {options.name} into {root} ...")
    fetch_dataset(options.name, root)
    print(f"{options.name} is complete.")


def lay_images(options: Namespace) -> None:
    """Write the test images into the study, where their licence allows it."""
    row = DATASETS[options.name]
    if not row.may_ship:
        raise PruneScopeError(
            f"Images of {row.label} may not be passed on (licence: {row.licence}), so no study carries them."
        )
    split = options.split or row.splits[0]
    test = load_dataset(options.name, data_root(options.data), Request(split=split)).test
    name = images_name(options.name, split)
    size = write_images(Study(options.study), name, test.images, test.labels)
    print(f"{len(test.labels):,} images of {row.label} in {options.study}/images/{name}.parquet, {size / 1e6:.1f} MB.")
    print(f"Say whose they are where you pass them on: {row.credit}.")
