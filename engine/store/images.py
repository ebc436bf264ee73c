"""Test images that a study carries, so that its pages show them on a machine without the data set.

`images/NAME.parquet`, sealed: a row per sheet of `SHEET` images, which stand one below the other in a PNG, with the
label of each. The name is that of data set and split, which runs with other training share.
"""

import io
from pathlib import Path

import numpy as np
import pyarrow as pa
from PIL import Image

from engine.errors import PruneScopeError
from engine.store.files import write_file
from engine.store.parquet import from_parquet, to_parquet
from engine.store.study import Study

SHEET = 64
"""Images in a PNG: one alone would take half as much room again."""


def images_name(dataset: str, split: str) -> str:
    """Name of the test images of a split."""
    return f"{dataset}-{split}".replace(":", ".")


def image_sets(study: Study) -> list[str]:
    """Names of the images that a study carries."""
    return sorted(path.stem for path in (study.path / "images").glob("[!.]*.parquet"))


def write_images(study: Study, name: str, images: np.ndarray, labels: np.ndarray) -> int:
    """Keep images, uint8 (n, channels, height, width) with 1 or 3 channels, and their labels; returns the bytes."""
    starts = range(0, len(images), SHEET)
    table = pa.table(
        {
            "png": pa.array([_png(images[start : start + SHEET]) for start in starts], pa.binary()),
            "labels": pa.array([labels[start : start + SHEET].tolist() for start in starts], pa.list_(pa.int16())),
        }
    )
    content = to_parquet(table, "images", seal=True)
    write_file(_file(study, name), content)
    return len(content)


def read_images(study: Study, name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """The images and their labels as they were written; None where the study carries none of that name."""
    file = _file(study, name)
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PruneScopeError(f"{file} cannot be read: {error}.") from error
    table = from_parquet(content, f"images/{file.name}")
    try:
        labels = [np.array(sheet, np.int64) for sheet in table["labels"].to_pylist()]
        sheets = [_images(png, len(of)) for png, of in zip(table["png"].to_pylist(), labels, strict=True)]
        return np.concatenate(sheets), np.concatenate(labels)
    except (KeyError, ValueError, TypeError, OSError) as error:
        raise PruneScopeError(f"images/{file.name} is damaged: {error}.") from error


def _file(study: Study, name: str) -> Path:
    return study.path / "images" / f"{name}.parquet"


def _png(images: np.ndarray) -> bytes:
    n, channels, height, width = images.shape
    pixels = images.transpose(0, 2, 3, 1).reshape(n * height, width, channels)
    buffer = io.BytesIO()
    Image.fromarray(pixels[..., 0] if channels == 1 else pixels).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def _images(png: bytes, n: int) -> np.ndarray:
    pixels = np.asarray(Image.open(io.BytesIO(png), formats=["PNG"]))
    pixels = pixels[..., None] if pixels.ndim == 2 else pixels
    height, rest = divmod(pixels.shape[0], n)
    if rest:
        raise ValueError(f"a sheet of {pixels.shape[0]} rows does not hold {n} images")
    return np.ascontiguousarray(pixels.reshape(n, height, pixels.shape[1], pixels.shape[2]).transpose(0, 3, 1, 2))
