"""Downloads by torchvision, which is loaded only when one starts."""

from collections.abc import Callable
from pathlib import Path
from typing import Any


def download(name: str, *variants: dict[str, Any]) -> Callable[[Path], None]:
    """A function that fetches torchvision's data set of that name, once for each variant of its arguments."""

    def fetch(root: Path) -> None:
        import torchvision.datasets

        for variant in variants or ({},):
            getattr(torchvision.datasets, name)(root, download=True, **variant)

    return fetch
