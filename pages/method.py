"""How are these numbers made?"""

import pandas as pd
import streamlit as st

from pages.shared import formats, protocol
from pages.shared.cache import catalog
from pages.shared.cache.kept import kept
from pages.shared.frame import open_page
from pages.shared.layout import answer, show_table
from pages.views.method import words

READING = 820  # pixels that a line of text may take

frame = open_page("pages/method.py")
everything = catalog.load_catalog(frame.source)


def section(title: str, *texts: str, table: pd.DataFrame | None = None, alt: str = "") -> None:
    """A heading, its sentences, and the table behind them."""
    st.markdown(f"## {title}")
    for text in texts:
        st.markdown(text, width=READING)
    if table is not None:
        show_table(table, f"method-{title.split()[0].lower()}", alt)


answer(kept(frame.source, "summary", (), lambda: words.summary(everything)))
st.markdown(
    "Class, group, writer and example views are computed from that record and from nothing else. A number that cannot "
    f"be estimated is shown as {formats.MISSING} with its reason, never as 0.",
    width=READING,
)
section(
    "What was shortened",
    formats.plain(protocol.protocol_sentences(catalog.spec(frame.source, frame.experiment))),
    "Against the papers, experiment by experiment:",
    words.bullets(kept(frame.source, "papers", (), lambda: words.paper_sentences(everything, frame.source))),
)
section(
    "Splits",
    words.TEST_SPLIT,
    table=kept(frame.source, "splits", (), lambda: words.split_table(everything, frame.source.study)),
    alt="Data sets, splits and sizes.",
)
section(
    "Pruning",
    "Sparsity is the share of prunable weights that are zero: weights of convolutions and linear layers, without biases"
    " and batch norm. A mask cuts exactly as many as asked for. "
    + kept(frame.source, "treatments", (), lambda: words.treatment_sentences(everything)),
    table=kept(frame.source, "techniques", (), lambda: words.technique_table(everything)),
    alt="Techniques and what they cut.",
)
if gradients := kept(frame.source, "gradients", (), lambda: words.gradient_sentences(everything)):
    section("Two readings of the gradient techniques", words.bullets(gradients))
section("Attributes of an image", words.bullets(words.attribute_sentences()))
section(
    "Unfairness",
    "Every measure grows with unfairness. Classes without test examples are left out. In the formulas, a_c is the "
    "accuracy of class c on the test split, a that of the model, J_c the mean loss of the class; the index 0 means "
    "dense, before pruning.".replace("_", r"\_"),
    table=words.measure_table(),
    alt="Unfairness measures with formula and source.",
)
section("Intervals", words.bullets(words.INTERVALS))
section("The frontier", words.bullets(words.FRONTIER))
section("What this cannot say", words.bullets(words.LIMITS))
section("Sources", words.bullets(words.PAPERS))
