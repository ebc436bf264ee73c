"""Writes every number that README.md and docs/ state, from the study that ships: `make docs`.

Text between `<!-- made:NAME -->` and `<!-- end -->` is replaced; a test makes it again and compares.
"""

import hashlib
import re
import sys
from collections.abc import Callable
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TOP))

from docs.made.at_risk import risk_table  # noqa: E402
from docs.made.control import control_table  # noqa: E402
from docs.made.findings import findings  # noqa: E402
from docs.made.good import distortion_table, shorter_words  # noqa: E402
from docs.made.hooker import exemplars_table, nothing_table, sizes_table  # noqa: E402
from docs.made.images import images_table  # noqa: E402
from docs.made.mitigation_rules import rules_table  # noqa: E402
from docs.made.paganini import accuracy_table, slopes_table, split_words  # noqa: E402
from docs.made.scale import size_words  # noqa: E402
from docs.made.study import Demo, markdown, open_demo  # noqa: E402
from docs.made.tran import cut_table, mitigation_table, violation_table  # noqa: E402
from engine.specs.arithmetic import PORTABLE  # noqa: E402
from engine.store import catalog  # noqa: E402
from pages.shared.cache.catalog import Source  # noqa: E402
from pages.shared.formats import unmarked  # noqa: E402
from pages.views.method.words import paper_sentences  # noqa: E402

FILES = ("README.md", "docs/comparison.md", "docs/scale.md", "data/README.md")


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
    trained = demo.control_levels["run"].nunique()
    beside = f"\n\nBeside them {trained} controls that train on without being pruned." if trained else ""
    return f"{markdown(rows.reset_index().sort_values('models', ascending=False))}{beside}"


def shortened(demo: Demo) -> str:
    """Each experiment against the paper that it follows, as the page Method says it."""
    sentences = paper_sentences(catalog.refresh(demo.study), Source(str(demo.study.path), 0))
    return "\n".join(f"- {unmarked(sentence)}" for sentence in sentences)


def rebuilt(demo: Demo) -> str:
    """Which runs come out the same on all x86-64 processors, and how to see it for one."""
    found = [
        run for run in demo.study.runs() if PORTABLE in str(demo.study.run_record(run).provenance.get("processor"))
    ]
    n_runs = len(demo.study.runs())
    if not found:
        return f"The {n_runs} runs come out the same on the kind of processor that made them; others round differently."
    others = (
        f"The other {n_runs - len(found)} were made before sums were made to round alike: they come out the "
        f"same on the kind of "
        "processor that made them, and elsewhere differ from what was kept."
    )
    return (
        f"{len(found)} of the {n_runs} runs were made with sums that round alike on x86-64 processors with AVX2."
        f"{f' {others}' if len(found) < n_runs else ''} To see it for the first level of one:\n\n"
        f"```\nprunescope rebuild {min(found)} --study data/demo --levels 1\n```"
    )


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
    "shortened": shortened,
    "findings": findings,
    "accuracy": accuracy_table,
    "split": split_words,
    "slopes": slopes_table,
    "distortion": distortion_table,
    "shorter": shorter_words,
    "control": control_table,
    "exemplars": exemplars_table,
    "nothing": nothing_table,
    "sizes": sizes_table,
    "mitigation": mitigation_table,
    "violation": violation_table,
    "cut": cut_table,
    "rebuilt": rebuilt,
    "checksums": checksums,
    "images": images_table,
    "risk": risk_table,
    "rules": rules_table,
    "scale": size_words,
}


def made(text: str, demo: Demo) -> str:
    """The text with everything between its marks made anew."""

    def fill(match: re.Match[str]) -> str:
        return f"{match[1]}\n{MADE[match[2]](demo)}\n{match[3]}"

    return re.sub(r"(<!-- made:(\w+) -->).*?(<!-- end -->)", fill, text, flags=re.DOTALL)


def main() -> None:
    demo = open_demo()
    for name in FILES:
        path = TOP / name
        path.write_text(made(path.read_text(encoding="utf-8"), demo), encoding="utf-8")
        print(f"made {name}")


if __name__ == "__main__":
    main()
