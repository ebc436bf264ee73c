"""The images of test examples, or the sentence that stands in their place."""

import numpy as np

from engine.datasets.dataset_table import DATASETS, Request, data_root
from engine.errors import PruneScopeError
from engine.run_spec import RunSpec
from pages.shared import formats
from pages.shared.cache import catalog
from pages.shared.names import dataset_name


def example_images(spec: RunSpec, labels: np.ndarray, below: str) -> tuple[np.ndarray | None, str]:
    """The images of the examples, or why there are none and what brings them; `below` is what the page shows then."""
    name, row = formats.plain(dataset_name(spec.dataset)), DATASETS.get(spec.dataset)
    if row is None or spec.schedule == "imported":
        return None, f"**No images.** {name} came as predictions only; {below.lower()} below."
    try:
        request = Request(spec.split, spec.target, spec.groups, spec.image_size)
        side = catalog.test_images(spec.dataset, request, data_root())
    except PruneScopeError as error:
        if not isinstance(error.__cause__, FileNotFoundError):
            return None, f"**The images cannot be read.** {formats.plain(error)}"
        way = f"`python -m engine data get {spec.dataset}` brings them." if row.fetch else row.bring
        return None, f"**The images of {name} are not on this machine.** {way} {below} below."
    if not np.array_equal(side.labels, labels):
        return None, f"**The images of {name} on this machine are not those that were tested**: their labels differ."
    return side.images, ""
