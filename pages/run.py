"""What should be computed next?"""

import streamlit as st

from pages.shared.cache import catalog
from pages.shared.frame import open_with_study
from pages.views.run import start, watch

study = open_with_study("pages/run.py")

# -- what runs --------------------------------------------------------------------------------------------------------
if study is not None:
    watch.show_latest(study)
watch.show_others(study or "")

# -- what to run next -------------------------------------------------------------------------------------------------
st.markdown("## Run something")
start.show_form(study, catalog.source(study) if study is not None else None)
