"""Photographs as arrays: cut to a centred square and scaled to one size."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from engine.errors import PruneScopeError

_GREY = {"1", "L", "LA"}
_COLOUR = {"P", "PA", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr"}


def n_channels(paths: Sequence[Path]) -> int:
    """1 where all the images are grey, else 3."""
    return 3 if any(_mode(path) in _COLOUR for path in paths) else 1


def read_photos(paths: Sequence[Path], size: int, n_channels: int = 3) -> np.ndarray:
    """The images, uint8 of shape (n, channels, size, size); what exceeds the centred square is cut off."""
    photos = np.empty((len(paths), n_channels, size, size), np.uint8)
    for photo, path in zip(photos, paths, strict=True):
        with _opened(path) as image:
            # A JPEG is decoded at the smallest scale that still covers the size.
            image.draft(None, (size, size))
            upright = ImageOps.exif_transpose(image).convert("L" if n_channels == 1 else "RGB")
            pixels = np.asarray(ImageOps.fit(upright, (size, size), Image.Resampling.BILINEAR))
        photo[:] = pixels.reshape(size, size, n_channels).transpose(2, 0, 1)
    return photos


def _mode(path: Path) -> str:
    with _opened(path) as image:
        return image.mode


@contextmanager
def _opened(path: Path) -> Iterator[Image.Image]:
    try:
        with Image.open(path) as image:
            if image.mode not in _GREY | _COLOUR:
                raise PruneScopeError(f"{path} has mode {image.mode}; allowed are images of 8 bits per channel.")
            yield image
    except FileNotFoundError:
        raise
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise PruneScopeError(f"{path} is not a readable image: {error}") from error
