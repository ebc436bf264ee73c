"""Runs benchmarks by name, or all; each ends with a line `NAME: 7.3x`."""

import importlib
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if "def run() -> float" in path.read_text(encoding="utf-8"))


def main(names: list[str]) -> int:
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        print(f"There is no benchmark {unknown[0]!r}; there are {', '.join(NAMES)}.", file=sys.stderr)
        return 2
    for name in names or NAMES:
        ratio = importlib.import_module(f"benchmarks.{name}").run()
        print(f"{name}: {ratio:.1f}x", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
