"""The tour: which steps a study can fill, their numbers, their length, and a file that asks nobody for anything."""

import base64
import re
import xml.etree.ElementTree as tree
from pathlib import Path

import numpy as np
import pytest

from pages.shared.cache import catalog
from pages.shared.cache.catalog import Source
from pages.shared.frame import Frame
from pages.views.overview import hero, tour, tour_charts
from tests.pages.conftest import NASTY, TOP, OpenPage
from tests.support.planted.regions import make_regions
from tests.support.studies import make_study

TITLES = ["Accuracy looks fine", "Who loses", "A person", "What can be traded", "What we ship and guard"]


def frame_of(source: Source) -> Frame:
    """The frame with everything switched on."""
    experiment = catalog.experiments(source)[0]
    variants = catalog.variants(source, experiment)
    techniques, treatments = (tuple(map(str, variants[name].unique())) for name in ("technique", "treatment"))
    return Frame(source, "a study", experiment, techniques, treatments, False)


def steps_of(source: Source, dark: bool = False) -> list[tour.Step]:
    """The steps of a study."""
    frame = frame_of(source)
    flags = catalog.flags(source, frame.experiment, frame.baseline).table
    return tour.steps(frame, hero.find_hero(flags, source, frame.experiment, frame.baseline), dark)


def svg_of(step: tour.Step) -> str:
    """The chart of a step as text."""
    return base64.b64decode(step.chart.partition(",")[2]).decode()


@pytest.mark.parametrize("dark", [False, True])
def test_the_shipped_study_fills_five_steps_of_at_most_twenty_words(dark: bool) -> None:
    found = steps_of(Source(str(TOP / "data" / "demo"), 0), dark)
    assert [step.title for step in found] == TITLES
    for step in found:
        assert len(re.sub(r"(?<=\d) %", "%", step.sentence).split()) <= 20, step.sentence
        assert tree.fromstring(svg_of(step)).tag.endswith("svg") and step.alt and step.notes
        assert len(step.chart) < 100_000


def test_steps_that_a_study_cannot_fill_are_left_out(tmp_path: Path, study_root: Path) -> None:
    make_regions(tmp_path / "regions")
    imported = [step.title for step in steps_of(Source(str(tmp_path / "regions"), 0))]
    assert imported == [title for title in TITLES if title != "A person"]
    tiny = [step.title for step in steps_of(Source(str(study_root / "tiny"), 0))]
    assert tiny[:3] == ["What accuracy says", "Who loses", "What can be traded"]
    make_study(tmp_path / "no-dense", dense=False)
    assert "Who loses" not in [step.title for step in steps_of(Source(str(tmp_path / "no-dense"), 0))]


def test_the_choice_is_the_one_that_the_frontier_opens_with(open_page: OpenPage, study_root: Path) -> None:
    source = Source(str(study_root / "planted"), 0)
    points = catalog.operating(source, catalog.experiments(source)[0])
    chosen = points.iloc[tour.choice_of(points).chosen]
    said = "\n".join(str(part.value) for part in open_page("pages/frontier.py", "planted").main.markdown)
    assert f"{100 * chosen['sparsity']:.1f}" in said


def test_the_file_holds_all_and_asks_nobody(study_root: Path) -> None:
    found = steps_of(Source(str(study_root / "nasty"), 0))
    text = tour.tour_file(found, NASTY).decode()
    assert "default-src 'none'" in text and NASTY not in text
    assert not re.search(r"(?:src|href)=\"(?!data:)|https?://(?!www\.w3\.org)", text)
    assert all("<img" not in svg_of(step) and tree.fromstring(svg_of(step)) is not None for step in found)


@pytest.mark.parametrize("asked", ["1", "3", "nonsense", "99"])
def test_the_address_opens_the_tour(open_page: OpenPage, asked: str) -> None:
    app = open_page("app.py", "planted", tour=asked)
    assert any("Arrow keys" in caption.value for caption in app.main.caption)
    assert not app.main.table, "the page itself is not drawn"


def test_labels_at_the_ends_of_lines_do_not_overlap() -> None:
    placed = tour_charts.spread([(100, "a", ""), (101, "b", ""), (tour_charts.HEIGHT - 50, "c", "")])
    heights = [up for up, _, _ in placed]
    assert all(second - first >= 20 for first, second in zip(heights, heights[1:], strict=False))
    assert heights[-1] <= tour_charts.HEIGHT - tour_charts.BOTTOM


@pytest.mark.parametrize("values", [[0.0, 0.0], [0.94, 0.98], [-0.01, 0.3], [0.0, 1.0], [0.999, 1.0]])
def test_an_axis_holds_its_values_and_marks_its_ends(values: list[float]) -> None:
    axis = tour_charts.percent_axis("x", np.array(values))
    assert axis.low <= min(values) + 1e-9 and axis.high >= max(values) - 1e-9
    assert axis.high - axis.low >= 0.05 - 1e-9 and 2 <= len(axis.ticks) <= 8
    assert axis.ticks[0][0] == pytest.approx(axis.low) and axis.ticks[-1][0] == pytest.approx(axis.high)
