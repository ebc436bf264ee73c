"""Hooker's tables beside ours: accuracy on harmed examples, and how large quantized networks are."""

import numpy as np
import pandas as pd

from docs.made.study import AT_ONCE, LATER, Demo, markdown
from engine.analysis.examples.exemplars import divergence, exemplar_accuracy
from engine.analysis.examples.unpruned_counts import Excess, beside_control, beside_halves
from engine.analysis.intervals import t_interval
from engine.pruning.techniques import untrained_techniques
from engine.store.study import examples_name
from pages.shared import formats
from pages.shared.names import technique_name

PUBLISHED = {
    "pruned 50 %": (50.55, 94.81, 63.06, 58.88, 54.44),
    "pruned 90 %": (50.41, 94.07, 62.35, 56.60, 50.10),
    "pruned 95 %": (45.57, 93.39, 60.53, 51.99, 43.43),
    "pruned 99 %": (39.84, 90.98, 49.93, 39.75, 29.21),
    "hybrid int8": (48.90, 94.65, 61.69, 54.89, 45.65),
    "fixed-point int8": (48.13, 94.65, 61.68, 54.41, 45.15),
}
"""Its Table 2: accuracy on modal CIE, on all, and on the taxicab CIE above three percentiles, in percent."""

OURS = {"global_unstructured": "pruned", "int8_dynamic": "int8, dynamic", "int8_static": "int8, static"}
SUBSETS = (("modal", None), ("all", None), ("taxicab", 90), ("taxicab", 95), ("taxicab", 99))


def exemplars_table(demo: Demo) -> str:
    """Accuracy of compressed networks on compression-identified exemplars, by percentile."""
    rows = [("Hooker 2020, CelebA", what, *(f"{v:.1f} %" for v in found), "30") for what, found in PUBLISHED.items()]
    for dataset in ("fashion-mnist", "qmnist"):
        for technique, words in OURS.items():
            wanted = {"dataset": dataset, "technique": technique, "protocol": AT_ONCE}
            models = demo.of(demo.levels, **wanted)
            for level in sorted(set(models["level"]) - {0}):
                sparsity = models.loc[models["level"] == level, "sparsity"].mean()
                what = f"{words} {100 * sparsity:.0f} %" if words == "pruned" else words
                rows.append((f"PruneScope, {dataset}", what, *_ours(demo, level, wanted)))
    heads = ["source", "compression", "modal CIE", "all", "90th", "95th", "99th", "networks"]
    return markdown(pd.DataFrame(rows, columns=heads))


def nothing_table(demo: Demo) -> str:
    """How many examples change their usual label by compression, beside how many do so where nothing is compressed."""
    rows = []
    for dataset in ("fashion-mnist", "qmnist"):
        for technique, words in OURS.items():
            wanted = {"dataset": dataset, "technique": technique, "protocol": AT_ONCE}
            models = demo.of(demo.levels, **wanted)
            for level in sorted(set(models["level"]) - {0}):
                sparsity = models.loc[models["level"] == level, "sparsity"].mean()
                what = f"{words} {100 * sparsity:.0f} %" if words == "pruned" else words
                rows.append((dataset, what, *_beside_nothing(demo, level, wanted)))
    heads = ["data set", "compression", "all seeds: changed", "control", "more", "halves: changed", "unpruned", "more"]
    return markdown(pd.DataFrame(rows, columns=heads))


def _beside_nothing(demo: Demo, level: int, wanted: dict[str, str]) -> tuple[str, ...]:
    populations = demo.populations(level, **wanted)
    assert populations is not None
    n_classes = int(demo.study.examples(_example_set(demo, wanted))["label"].max()) + 1
    controls = _controls(demo, level, wanted)
    whole = divergence(*populations, n_classes).modal.sum()
    control = None
    if controls is not None and len(controls) == len(populations[0]):
        control = beside_control(*populations, populations[0], controls, n_classes)
    halves = beside_halves(*populations, n_classes)
    first = _excess_words(control) if control else (str(whole), "", "")
    return (*first, *(_excess_words(halves) if halves else ("", "", "")))


def _controls(demo: Demo, level: int, wanted: dict[str, str]) -> np.ndarray | None:
    """What the networks that trained as long without pruning predict, of the seeds of these runs; None without."""
    if wanted["technique"] in untrained_techniques():
        return None
    same = {key: value for key, value in wanted.items() if key != "technique"}
    rows = demo.of(demo.control_levels, level=level, **same).astype({"run": str}).set_index("seed")["run"]
    pruned = demo.of(demo.levels, level=level, **wanted).astype({"run": str}).sort_values("run")
    if not set(pruned["seed"]) <= set(rows.index):
        return None
    return np.stack([_prediction(demo, rows[seed], level) for seed in pruned["seed"]])


def _prediction(demo: Demo, run: str, level: int) -> np.ndarray:
    numbers, predictions = demo.study.prediction_matrix(run)
    return np.asarray(predictions[list(numbers).index(level)])


def _excess_words(excess: Excess) -> tuple[str, str, str]:
    half = (excess.high - excess.low) / 2
    return f"{excess.changed:.0f}", f"{excess.unpruned:.0f}", f"{excess.excess:+.0f} ± {half:.0f}"


def _ours(demo: Demo, level: int, wanted: dict[str, str]) -> tuple[str, ...]:
    found = demo.populations(level, **wanted)
    assert found is not None
    labels = demo.study.examples(_example_set(demo, wanted))["label"].to_numpy()
    n_classes = int(labels.max()) + 1
    rows = exemplar_accuracy(labels, *found, divergence(*found, n_classes))
    rows = rows[rows["population"] == "compressed"]
    said = []
    for subset, percentile in SUBSETS:
        same = rows["subset"] == subset
        row = rows[same & (rows["percentile"] == percentile)] if percentile else rows[same]
        count = f" (n {row['n'].item()})" if subset == "modal" else ""
        said.append(formats.percent(row["accuracy"].item()) + count)
    return (*said, str(len(found[0])))


def _example_set(demo: Demo, wanted: dict[str, str]) -> str:
    return examples_name(demo.study.run_record(str(demo.of(demo.levels, **wanted)["run"].iloc[0])).spec)


def sizes_table(demo: Demo) -> str:
    """Size on disk, accuracy and largest gap between classes of quantized networks."""
    rows: list[tuple[str, ...]] = []
    for dataset in ("fashion-mnist", "qmnist"):
        for technique in ("int8_dynamic", "int8_static", "global_unstructured_int8_static"):
            models = demo.of(demo.levels, dataset=dataset, technique=technique, protocol=AT_ONCE)
            if models.empty:
                rows.append((dataset, technique_name(technique), LATER, "", "", "", ""))
                continue
            parts = [demo.study.run_table(run, "sizes").assign(run=run) for run in models["run"].astype(str).unique()]
            found = models.astype({"run": str}).merge(pd.concat(parts), on=["run", "level"])
            rates = demo.of(demo.classes, dataset=dataset, technique=technique, protocol=AT_ONCE)
            rates = rates.assign(rate=rates["correct"] / rates["n"]).groupby(["run", "level"], observed=True)["rate"]
            gaps = (rates.max() - rates.min()).groupby("level").mean()
            for level, cell in found.groupby("level"):
                low, high = map(float, t_interval(cell["accuracy"].mean(), cell["accuracy"].std(), len(cell)))
                rows.append(
                    (
                        dataset,
                        technique_name(technique) if level else "Dense",
                        formats.sparsity(cell["sparsity"].mean()),
                        f"{formats.percent(cell['accuracy'].mean())} {formats.plus_minus(low, high)}".strip(),
                        formats.points(gaps[level], sign=False),
                        f"{cell['bytes'].mean() / 1000:.0f} ({cell['bytes_zipped'].mean() / 1000:.0f})",
                        str(len(cell)),
                    )
                )
    heads = ["data set", "technique", "sparsity", "accuracy", "largest gap of classes", "kB (zipped)", "seeds"]
    return markdown(pd.DataFrame(rows, columns=heads).drop_duplicates())
