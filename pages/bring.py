"""How do my own models fare?"""

import streamlit as st

from pages.shared.frame import open_without_study
from pages.shared.layout import answer
from pages.shared.session.access import may_write
from pages.views.bring import arrival, steps

EXAMPLE = """example,label,prediction,technique,sparsity,seed,age_group
img001,cat,cat,dense,0,0,young
img001,cat,dog,magnitude,0.9,0,young
img002,dog,dog,dense,0,0,old
img002,dog,dog,magnitude,0.9,0,old
"""

open_without_study("pages/bring.py")
answer("**See your own models here**: a table of predictions from any toolkit is enough. Extra columns become groups.")
with st.expander("What a file looks like: example, true class, prediction, sparsity", expanded=True):
    st.code(EXAMPLE, language=None)
    st.markdown(
        "One row per model and example, as CSV (UTF-8), JSON lines or Parquet; or one row per example and one column "
        "per model, named like `magnitude@0.9#0`. Rows of technique `dense` serve every technique of the same seed. "
        "Several seeds give intervals. On the command line: `python -m engine import FILES --study DIR`, and "
        "`--append` later."
    )
    st.download_button(
        "Template",
        EXAMPLE,
        "predictions.csv",
        "text/csv",
        key="template",
        icon=":material/download:",
        on_click="ignore",
    )

# -- the file ---------------------------------------------------------------------------------------------------------
if not may_write():
    st.info(
        "**Nothing can be brought in here.** Only editors may, and nobody in a demonstration.", icon=":material/lock:"
    )
    st.stop()
left, right = st.columns([2, 1], gap="large")
KINDS = ["csv", "tsv", "txt", "parquet", "pq", "gz", "jsonl", "ndjson", "json"]
file = left.file_uploader("Predictions", KINDS, key="file")
sidecar = right.file_uploader(
    "Description file (optional)", ["json"], key="sidecar", help="An export writes it beside."
)
more = st.file_uploader(
    "More files, if each holds one model",
    KINDS,
    accept_multiple_files=True,
    key="more",
    help="They are joined by example and read like the first; labels and groups may stand in one of them alone.",
)
if file is None:
    st.stop()
seen = steps.previewed(file, sidecar)
if seen is None:
    st.stop()
steps.show_preview(seen)

# -- what it means ----------------------------------------------------------------------------------------------------
mapping = steps.choose_mapping(seen)
steps.show_outlook(mapping)
st.markdown("## Where it goes")
target = steps.choose_target(file.name)
if st.button("Import", type="primary", icon=":material/upload:", disabled=target is None) and target is not None:
    arrival.bring_in([file, *more], sidecar, mapping, target)
arrival.show_arrival(file)
