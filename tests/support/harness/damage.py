"""Ways in which a file can be damaged, each drawn at random."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

Damage = Callable[[Path, random.Random], None]


def flip(path: Path, draw: random.Random) -> None:
    """One bit is another."""
    content = bytearray(path.read_bytes())
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    path.write_bytes(content)


def cut(path: Path, draw: random.Random) -> None:
    """Its end is missing."""
    path.write_bytes(path.read_bytes()[: draw.randrange(path.stat().st_size)])


def swap(path: Path, draw: random.Random) -> None:
    """Another whole file of the study with the same ending takes its place."""
    study = next(above for above in path.parents if (above / "runs").is_dir() or (above / "work").is_dir())
    content = path.read_bytes()
    others = [p for p in sorted(study.rglob(f"*{path.suffix}")) if p.is_file() and p.read_bytes() != content]
    near = [other for other in others if other.name == path.name or other.parent == path.parent]
    shutil.copy(draw.choice(near or others), path)


def delete(path: Path, draw: random.Random) -> None:
    """It is gone."""
    path.unlink()


DAMAGES: tuple[Damage, ...] = (flip, cut, swap, delete)
