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
    """Another whole file of the study takes its place, of the same name or folder where there is one."""
    study = next(above for above in path.parents if (above / "runs").is_dir() or (above / "work").is_dir())
    content = path.read_bytes()
    others = [other for other in sorted(study.rglob("*")) if other.is_file() and other.read_bytes() != content]
    alike = [other for other in others if other.suffix == path.suffix]
    near = [other for other in alike if other.name == path.name or other.parent == path.parent]
    shutil.copy(draw.choice(near or alike or others), path)


def delete(path: Path, draw: random.Random) -> None:
    """It is gone."""
    path.unlink()


DAMAGES: tuple[Damage, ...] = (flip, cut, swap, delete)
