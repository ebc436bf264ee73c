"""Writes every number that README.md and docs/ state, from the study that ships: `make docs`.

Text between `<!-- made:NAME -->` and `<!-- end -->` is replaced; a test makes it again and compares.
"""

import hashlib
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd

TOP = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TOP))

from docs.good import distortion_table  # noqa: E402
from docs.hooker import exemplars_table, sizes_table  # noqa: E402
from docs.study import LATER, Demo, markdown, open_demo  # noqa: E402
from docs.tran import mitigation_table  # noqa: E402
from engine.analysis.choice import choose  # noqa: E402
from engine.analysis.curves import total_curves  # noqa: E402
from engine.analysis.frontier import operating_points  # noqa: E402
from engine.analysis.lines import slope_change  # noqa: E402
from engine.analysis.overview import red_flags  # noqa: E402
from engine.analysis.writers import member_facts  # noqa: E402
from engine.unfairness import unfairness_table  # noqa: E402
from pages.shared import formats  # noqa: E402

FILES = ("README.md", "docs/comparison.md", "data/README.md")


SHORT = {"technique": "global_unstructured", "treatment": "rewind", "protocol": "3 epochs"}
PAPER = {"technique": "global_unstructured", "treatment": "rewind", "protocol": "30 epochs, crop 4, flip"}


def contents(demo: Demo) -> str:
    """What the study holds, as a table."""
    keys = ["dataset", "split", "network", "protocol"]
    rows = demo.levels.groupby(keys, observed=True).agg(
        techniques=("technique", "nunique"),
        treatments=("treatment", "nunique"),
        seeds=("seed", "nunique"),
        runs=("run", "nunique"),
        models=("run", "size"),
    )
    return markdown(rows.reset_index().sort_values("runs", ascending=False))


def findings(demo: Demo) -> str:
    """Three findings on QMNIST's writers, with numbers and seeds."""
    short = demo.of(demo.levels, dataset="qmnist", protocol="3 epochs")
    classes = demo.of(demo.classes, dataset="qmnist", protocol="3 epochs")
    flags = red_flags(short, classes)
    flag = flags[(flags["technique"] == "l1_structured") & (flags["treatment"] == "rewind")]
    lines = []
    if len(flag) and pd.notna(flag.iloc[0]["class"]):
        row = flag.iloc[0]
        lines.append(
            f"**The total hides the classes.** Cutting channels by L1 (rewind) to {formats.sparsity(row['sparsity'])} "
            f"changes accuracy by {formats.points(row['accuracy'] - row['dense_accuracy'])}, while digit "
            f"{row['class']} changes by {formats.points(row['class_change'])} "
            f"({formats.count(row['class_n'])} test digits, {row['n_seeds']} seed{'s' if row['n_seeds'] > 1 else ''})."
        )
    table = demo.writers(20, **SHORT)
    if table is not None:
        facts = member_facts(table, "abs_tilt")
        n_seeds = demo.of(demo.levels, dataset="qmnist", **SHORT)["seed"].nunique()
        mean = float((table["change"] * table["n"]).sum() / table["n"].sum())
        assert facts.worst_before is not None and facts.worst_after is not None
        lines.append(
            f"**Some writers pay for all.** Global magnitude pruning to 98.85 % with rewinding changes accuracy by "
            f"{formats.points(mean)}, but {facts.n_losing} of {facts.n_members} writers lose more than 5 points, and "
            f"writer {facts.worst} falls from {formats.percent(facts.worst_before)} to "
            f"{formats.percent(facts.worst_after)} on {facts.worst_n} digits (mean of {n_seeds} seeds)."
        )
    points = operating_points(short, unfairness_table(classes))
    chosen = {weight: choose(points, 0.925, weight) for weight in (1.0, 100.0)}
    if all(choice.chosen is not None for choice in chosen.values()):
        names = []
        for weight, choice in chosen.items():
            row = points.iloc[choice.chosen]
            what = (
                "the dense network"
                if row["level"] == 0
                else f"{formats.technique(row['technique'])} ({row['treatment']})"
            )
            names.append(
                f"at weight {weight:g} {what} at {formats.sparsity(row['sparsity'])} with a gap of "
                f"{formats.points(row['max_min'], sign=False)}"
            )
        fewest, most = int(points["n_seeds"].min()), int(points["n_seeds"].max())
        lines.append(
            f"**What fairness is worth decides.** With accuracy at least 92.5 %, the frontier chooses {names[0]}, and "
            f"{names[1]} ({most if fewest == most else f'{fewest} to {most}'} seeds a point)."
        )
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))


def accuracy_table(demo: Demo) -> str:
    """LeNet on QMNIST, dense and at the last level, beside the paper's."""
    rows = [
        ("Paganini 2020, Section 4.1", "official", "30 epochs, crop, flip", "about 97 %", "about 78 % at 98.6 %", "6")
    ]
    for protocol in (PAPER, SHORT):
        curve = total_curves(demo.of(demo.levels, dataset="qmnist", **protocol))
        if curve.empty:
            rows.append(("PruneScope", "writers", protocol["protocol"], LATER, LATER, "0"))
            continue
        first, last = curve.iloc[0], curve.iloc[-1]
        after = f"{_with_interval(last)} at {formats.sparsity(last['sparsity'])}"
        seeds = str(int(first["n_seeds"]))
        rows.append(("PruneScope", "writers", protocol["protocol"], _with_interval(first), after, seeds))
    return markdown(pd.DataFrame(rows, columns=["source", "split", "protocol", "dense", "pruned", "seeds"]))


def slopes_table(demo: Demo) -> str:
    """Table 1 of Paganini beside ours: lines of a writer's accuracy on mean absolute tilt."""
    paper = {
        "hsf0": (0.988, -0.025, 0.854, -0.296),
        "hsf1": (0.983, -0.008, 0.831, -0.237),
        "hsf4": (0.974, -0.084, 0.771, -0.295),
        "full": (0.973, 0.006, 0.784, -0.138),
    }
    rows = [("Paganini 2020, Table 1", group, *(f"{v:.3f}" for v in values), "") for group, values in paper.items()]
    for protocol in (PAPER, SHORT):
        table = demo.writers(20, **protocol)
        if table is None:
            rows.append((f"PruneScope, {protocol['protocol']}", "all", LATER, LATER, LATER, LATER, ""))
            continue
        for row in slope_change(table, "abs_tilt", "series").itertuples():
            numbers = (row.intercept_before, row.slope_before, row.intercept_after, row.slope_after)
            change = f"{row.slope_change:+.3f} ({row.low:+.3f} to {row.high:+.3f})"
            name = f"PruneScope, {protocol['protocol']}"
            rows.append((name, row.group, *(f"{value:.3f}" for value in numbers), change))
    heads = ["source", "series", "intercept before", "slope before", "intercept after", "slope after", "change (95 %)"]
    return markdown(pd.DataFrame(rows, columns=heads))


def checksums(demo: Demo) -> str:
    """One digest over all runs, and the size of the whole."""
    digest, size = hashlib.sha256(), 0
    for path in sorted(demo.study.path.rglob("*")):
        if path.is_file() and path.relative_to(demo.study.path).parts[0] in ("runs", "examples"):
            content = path.read_bytes()
            size += len(content)
            digest.update(str(path.relative_to(demo.study.path)).encode() + hashlib.sha256(content).digest())
    return f"Runs and examples: {size / 1e6:.1f} MB, SHA-256 over names and contents `{digest.hexdigest()}`."


MADE: dict[str, Callable[[Demo], str]] = {
    "contents": contents,
    "findings": findings,
    "accuracy": accuracy_table,
    "slopes": slopes_table,
    "distortion": distortion_table,
    "exemplars": exemplars_table,
    "sizes": sizes_table,
    "mitigation": mitigation_table,
    "checksums": checksums,
}


def made(text: str, demo: Demo) -> str:
    """The text with everything between its marks made anew."""

    def fill(match: re.Match[str]) -> str:
        return f"{match[1]}\n{MADE[match[2]](demo)}\n{match[3]}"

    return re.sub(r"(<!-- made:(\w+) -->).*?(<!-- end -->)", fill, text, flags=re.DOTALL)


def _with_interval(row: pd.Series) -> str:
    return f"{formats.percent(row['accuracy'])} {formats.plus_minus(row['low'], row['high'])}".strip()


def main() -> None:
    demo = open_demo()
    for name in FILES:
        path = TOP / name
        path.write_text(made(path.read_text(encoding="utf-8"), demo), encoding="utf-8")
        print(f"made {name}")


if __name__ == "__main__":
    main()
