"""Runs benchmarks by name, or all; each ends with a line `NAME: 7.3x`, or with what it missed."""

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
    missed = []
    for name in names or NAMES:
        try:
            ratio = importlib.import_module(f"benchmarks.{name}").run()
        except AssertionError as error:
            missed.append(name)
            print(f"{name}: missed: {error}", flush=True)
        else:
            print(f"{name}: {ratio:.1f}x", flush=True)
    if missed:
        print(f"{len(missed)} missed: {', '.join(missed)}.", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
