"""How large quantized networks are on disk, beside what they cost: the rows, the sentence and what is shown."""

import pandas as pd
import streamlit as st

from engine.analysis.columns import MODEL
from engine.analysis.frontier.points import usual_dense
from engine.analysis.frontier.tradeoffs.point_costs import COSTS
from pages.shared import formats
from pages.shared.body import part
from pages.shared.cache import extras
from pages.shared.cache.kept import kept
from pages.shared.frame import Frame
from pages.shared.names import technique_at
from pages.views.frontier.controls import Question


def size_table(sizes: pd.DataFrame, points: pd.DataFrame, measure: str) -> pd.DataFrame:
    """One row per operating point whose size was recorded, smallest file first; the dense network once."""
    keys = [*MODEL, "level"]
    files = sizes.reindex(columns=[*keys, "bytes", "bytes_zipped"]).dropna(subset="bytes")
    mean = files.groupby(keys, observed=True, as_index=False).mean()
    points = points.drop(columns=[name for name in COSTS if name in points])
    sized = points.astype(dict.fromkeys(MODEL, str)).merge(mean.astype(dict.fromkeys(MODEL, str)), on=keys)
    dense = sized[usual_dense(sized)].drop_duplicates(["bytes", "accuracy"])
    sized = pd.concat([sized[sized["level"] > 0], dense]).sort_values(["bytes", "bytes_zipped"])
    return pd.DataFrame(
        {
            "technique": [
                technique_at(name, level) for name, level in zip(sized["technique"], sized["level"], strict=True)
            ],
            "level": sized["level"],
            "sparsity": [formats.sparsity(value) for value in sized["sparsity"]],
            "accuracy": sized["accuracy"] * 100,
            "unfairness": [formats.unfairness(value, measure) for value in sized[measure]],
            "kB": sized["bytes"] / 1000,
            "kB zipped": sized["bytes_zipped"] / 1000,
            "seeds": sized["n_seeds"],
        }
    ).reset_index(drop=True)


def size_sentence(table: pd.DataFrame) -> str:
    """How much smaller eight bits are without any pruning, and what they cost."""
    uncut = (table["level"] > 0) & (table["sparsity"] == formats.sparsity(0.0))
    if not uncut.any() or not (table["level"] == 0).any():
        return ""
    plain, best = table[table["level"] == 0].iloc[0], table[uncut].iloc[0]
    return (
        f"**{formats.plain(best['technique'])}** takes {best['kB']:.0f} kB instead of {plain['kB']:.0f} kB without "
        f"cutting a weight, and accuracy goes from {plain['accuracy']:.1f} % to {best['accuracy']:.1f} %. Files of "
        "pruned networks hold their zeros, so they shrink only when zipped."
    )


@part
def show_sizes(frame: Frame, asked: Question) -> None:
    """How large quantized networks are as files; nothing where none was quantized."""
    sizes = extras.sizes(frame.source, frame.experiment)
    if sizes.empty or "bytes" not in sizes:  # of models from elsewhere, people may say bits or parameters alone
        return
    key = (asked.between, asked.filters, asked.measure)
    small_files = kept(frame.source, "frontier sizes", key, lambda: size_table(sizes, asked.points, asked.measure))
    if small_files.empty:
        return
    if said := size_sentence(small_files):
        st.markdown(f"## Size on disk\n{said}")
    column = st.column_config.NumberColumn
    looks = {"accuracy": column(format="%.1f %%"), "kB": column(format="%.0f"), "kB zipped": column(format="%.0f")}
    fold = st.expander(
        f"Size on disk of all {formats.count(len(small_files))} networks", key="files", on_change="rerun"
    )
    if fold.open:
        fold.caption("The weights as a safetensors file, average of the training runs, where recorded.")
        fold.dataframe(small_files, hide_index=True, column_config=looks, alt="Size on disk of each network.")
