"""What does pruning hide behind a steady accuracy?"""

from pathlib import Path

import streamlit as st

from engine.analysis.columns import VARIANT
from pages.shared import formats, protocol
from pages.shared.cache import catalog
from pages.shared.cache.kept import kept
from pages.shared.experiments import experiment_names
from pages.shared.frame import open_page, shared_link
from pages.shared.layout import answer, show_table
from pages.views.overview import contents, hero, tour, words
from pages.views.overview.hero import ways_on

frame = open_page("app.py")
asked = (frame.experiment, frame.techniques, frame.treatments, frame.baseline)
red_flags = catalog.flags(frame.source, frame.experiment, frame.baseline)
rows = kept(frame.source, "kept flags", asked, lambda: frame.keep(red_flags.table))
names = frame.class_names

# -- the answer, and the picture that shows it ------------------------------------------------------------------------
found = kept(frame.source, "hero", asked, lambda: hero.find_hero(rows, frame.source, frame.experiment, frame.baseline))
if "tour" in st.query_params:
    name = formats.unmarked(words.experiment_name(frame.experiment))
    tour.guide(frame, found, st.query_params["tour"], f"{name}: who pays for pruning?", shared_link())
    st.stop()
answer(kept(frame.source, "sentence", asked, lambda: words.hero_sentence(rows, found, frame.experiment, names)))
hero.draw_hero(kept(frame.source, "payload", asked, lambda: hero.payload(found, frame.source, frame.experiment)))
link = shared_link()
ways = st.container(horizontal=True, gap="small", key="ways-on")
for file, label, icon, text in ways_on(found):
    with ways.container(width="content", key=f"way-{Path(file).stem}"):
        st.page_link(file, label=f"**{label}**", icon=icon, help=text, query_params=link)
with ways.container(width="content", key="way-tour"):
    st.page_link(
        "app.py",
        label="**Take the tour**",
        icon=":material/slideshow:",
        help="Five steps, one sentence and one chart each.",
        query_params=link | {"tour": ["1"]},
    )
with st.expander("How sure is this?"):
    if found is not None:
        st.markdown(formats.plain(hero.chance_sentence(found)))
    st.markdown(kept(frame.source, "headline", asked, lambda: words.headline_sentence(rows, frame.experiment, names)))
    st.markdown(
        kept(
            frame.source,
            "details",
            asked,
            lambda: f"{words.detail_sentences(rows)} {words.detail_training(rows, frame.source, frame.experiment)}",
        )
    )

# -- how it was made --------------------------------------------------------------------------------------------------
spec = catalog.spec(frame.source, frame.experiment)
levels = catalog.levels(frame.source, frame.experiment)
seeds = kept(
    frame.source,
    "seeds",
    frame.experiment,
    lambda: levels.groupby(list(VARIANT), observed=True)["seed"].nunique(),
)
with st.expander("How were these networks made?"):
    st.markdown(
        f"{formats.plain(protocol.protocol_sentences(spec))} "
        f"{protocol.difference_sentence(spec, int(seeds.min()), int(seeds.max()))}"
    )

# -- red flags --------------------------------------------------------------------------------------------------------
st.markdown(
    "## Red flags",
    help="For each technique: its sparsest level whose mean accuracy is within 1 point of the unpruned network's, and "
    "who surely loses most there. Class gap: best minus worst class accuracy, against that of the unpruned network; "
    "above 1× it grows. Unpruned is the network before any cut, or one that trained as long.",
)
told, not_told = kept(frame.source, "told", asked, lambda: words.told_and_not(rows))
SHOWN = "For each technique: how sparse it gets within 1 point, and the class and group that lose most there."
if len(told):
    flags = kept(frame.source, "flags", asked, lambda: words.flag_table(told, names))
    show_table(flags[: words.MOST_FLAGS], "flags", SHOWN)
    if len(flags) > words.MOST_FLAGS:
        with st.expander(f"{formats.count(len(flags) - words.MOST_FLAGS)} more, with smaller losses"):
            show_table(flags[words.MOST_FLAGS :], "flags-more", SHOWN)
elif len(not_told):
    st.markdown("No loss of a class or group can be told from chance.")
if len(not_told):
    with st.expander(f"Not told from chance: {formats.count(len(not_told))} row{'s' * (len(not_told) > 1)}"):
        flags = kept(frame.source, "flags not told", asked, lambda: words.flag_table(not_told, names))
        show_table(flags, "flags-not-told", SHOWN)
if len(told) + len(not_told):
    n_classes = catalog.classes(frame.source, frame.experiment)["class"].nunique()
    st.caption(kept(frame.source, "cautions", asked, lambda: words.cautions(rows, n_classes)))
for sentence in kept(frame.source, "left out", asked, lambda: words.left_out(rows)):
    st.caption(sentence)
if red_flags.no_groups and len(told) + len(not_told):
    st.caption(formats.plain(f"No worst group: {red_flags.no_groups}."))

# -- what is loaded ---------------------------------------------------------------------------------------------------
everything, called = catalog.load_catalog(frame.source), experiment_names(frame.source)
st.markdown(
    "## All experiments in this study",
    help="Runs that differ in data set, split, network or protocol are never averaged. Hours of computing, all runs "
    "together.",
)
if about := contents.about(frame.source.study):
    st.markdown(formats.plain(about))
show_table(
    kept(
        frame.source,
        "experiments",
        (frame.experiment, tuple(called.values())),
        lambda: contents.experiment_table(everything, frame.experiment, called),
    ),
    "experiments",
    "Data set, network, name, runs and seeds of each experiment.",
)
for sentence in kept(frame.source, "not whole", (), lambda: contents.not_whole(everything)):
    st.caption(formats.plain(sentence))
figures = kept(frame.source, "figures", (), lambda: contents.figures(everything))
tiles = st.container(horizontal=True)
for label, (n, text) in figures.items():
    tiles.metric(label, n, help=text or None, border=True, width=155)
