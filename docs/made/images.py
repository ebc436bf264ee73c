"""Which images the study that ships carries: how many, how large, and whose."""

from docs.made.study import Demo
from engine.datasets.dataset_table import DATASETS
from engine.store.images import image_sets, images_name, read_images


def images_table(demo: Demo) -> str:
    """One row per file of images."""
    lines = ["| file | images | MB | whose |", "| --- | --- | --- | --- |"]
    for key, row in DATASETS.items():
        for split in row.splits:
            name = images_name(key, split)
            found = read_images(demo.study, name) if name in image_sets(demo.study) else None
            if found is not None:
                size = (demo.study.path / "images" / f"{name}.parquet").stat().st_size / 1e6
                lines.append(f"| `{name}.parquet` | {len(found[1]):,} | {size:.1f} | {row.credit} |")
    return "\n".join(lines)
