"""Charts of the Class curves page: a trace per class, colours by dense accuracy, plain names, same axes."""

import math
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.analysis.columns import VARIANT
from engine.analysis.curves.class_curves import class_curves, total_curves, unfairness_curves, with_accuracy
from engine.analysis.unfairness import UNFAIRNESS, unfairness_table
from pages.shared.charts.class_look import UNKNOWN, ClassLook, spread_out, within
from pages.shared.charts.contrast import legible
from pages.shared.charts.style import DASHES, REST, SPOTLIGHT, WORST, technique_colour
from pages.views.class_curves import charts
from pages.views.class_curves.technique_charts import MOST_NAMED, Look, total_chart, unfairness_chart
from tests.support.dashboard.hovering import hovered
from tests.support.study_tables import study_tables

TECHNIQUES = ("global_unstructured", "l1_structured", "<i>own</i>")
LEVELS, CLASSES = study_tables(TECHNIQUES)
CURVES = class_curves(CLASSES)
ONE = CURVES[CURVES["technique"] == TECHNIQUES[0]]
NAMES = {number: f"<b>{number}</b> & a long name" for number in range(10)}
DENSE = {int(k): float(v) for k, v in ONE.drop_duplicates("class").set_index("class")["dense_accuracy"].items()}


def look(**values: Any) -> ClassLook:
    return ClassLook(**{"names": NAMES, "dense": DENSE, "scale": "kept", "dark": False} | values)


def brightness(colour: str) -> float:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def lines(figure: go.Figure) -> list[Any]:
    return [trace for trace in figure.data if trace.hovertemplate]


@pytest.mark.parametrize("dark", [False, True])
def test_the_worse_a_class_was_the_darker_it_is(dark: bool) -> None:
    shades = look(dark=dark).colours
    order = sorted(shades, key=lambda number: DENSE[number])
    assert np.all(np.diff([brightness(shades[number]) for number in order]) >= 0)
    assert brightness(shades[order[0]]) < brightness(shades[order[-1]])


def test_a_class_without_dense_accuracy_is_grey() -> None:
    assert look().colour(9) == UNKNOWN and math.isnan(DENSE[9])
    assert set(look(dense=dict.fromkeys(range(3), math.nan)).colours.values()) == set()


def test_equal_classes_have_one_colour_and_no_bar() -> None:
    same = look(dense=dict.fromkeys(range(3), 0.9))
    assert len(set(same.colours.values())) == 1 and same.colour_bar(1) == []


def test_chart_greys_all_classes_but_the_spotlight_and_the_lowest() -> None:
    figure = charts.class_chart(ONE, look(), 4, bands=False, lowest=7)
    drawn = lines(figure)
    assert len(drawn) == 10 and drawn[-1].name == "&lt;b&gt;4&lt;/b&gt; &amp; a long name"
    assert [trace.line.color for trace in drawn] == [REST[False]] * 8 + [WORST[False], SPOTLIGHT[False]]
    assert drawn[-1].line.width > max(trace.line.width for trace in drawn[:-1])
    rows = ONE[ONE["class"] == 4].sort_values("level")
    np.testing.assert_allclose(drawn[-1].y, rows["accuracy"])
    np.testing.assert_allclose(drawn[-1].x, 1 - rows["sparsity"])


def test_hover_says_level_sparsity_accuracy_change_and_n_as_plain_text() -> None:
    text = hovered(lines(charts.class_chart(ONE, look(), 4, bands=False))[-1], 2)
    row = ONE[(ONE["class"] == 4) & (ONE["level"] == 2)].iloc[0]
    assert "<b>class &lt;b&gt;4&lt;/b&gt; &amp; a long name</b>" in text
    assert "level 2, sparsity 75.0 %" in text and f"accuracy {100 * row['accuracy']:.1f} % ± " in text
    assert f"{100 * (row['accuracy'] - row['dense_accuracy']):+.1f} pt against the dense network" in text
    assert "n 50, 3 training runs" in text


@pytest.mark.parametrize(("bands", "n_bands"), [(False, 1), (True, 10)])
def test_band_of_the_spotlight_or_of_all(bands: bool, n_bands: int) -> None:
    figure = charts.class_chart(ONE, look(), 4, bands)
    areas = [trace for trace in figure.data if trace.fill]
    assert len(areas) == n_bands
    for area in areas:
        assert not len(area.y) or (min(area.y) >= 0 and max(area.y) <= 1)


def test_two_seeds_have_no_band_unless_asked_for() -> None:
    levels, classes = study_tables(TECHNIQUES[:1], n_seeds=2)
    curves = class_curves(classes)
    assert not [trace for trace in charts.class_chart(curves, look(), 4, bands=False).data if trace.fill]
    assert [trace for trace in charts.class_chart(curves, look(), 4, bands=True).data if trace.fill]


def test_seeds_are_lines_with_gaps_between_them() -> None:
    models = with_accuracy(CLASSES[CLASSES["technique"] == TECHNIQUES[0]])
    models = models.assign(dense_accuracy=models["class"].map(DENSE))
    drawn = lines(charts.seed_chart(models, look(), 4))
    assert len(drawn) == 10 and len(drawn[0].y) == 3 * 4 + 2
    assert np.flatnonzero(np.isnan(drawn[0].x)).tolist() == [4, 9] and "seed 2" in hovered(drawn[0], -1)


@pytest.mark.parametrize(("scale", "kind"), [("linear", None), ("kept", "log")])
def test_axis_follows_the_scale(scale: str, kind: str | None) -> None:
    axis = charts.class_chart(ONE, look(scale=scale), None, bands=False).layout.xaxis
    assert axis.type == kind and (axis.range[0] > axis.range[1]) == (scale == "kept")


def test_many_classes_have_no_names_beside_their_lines() -> None:
    many = pd.concat([ONE.assign(**{"class": ONE["class"] + 10 * step}) for step in range(3)], ignore_index=True)
    assert not charts.class_chart(many, look(), None, bands=False).layout.annotations
    assert len(charts.class_chart(ONE, look(), None, bands=False).layout.annotations) == 9


def test_names_beside_lines_are_short_and_plain() -> None:
    for note in charts.class_chart(ONE, look(), None, bands=False).layout.annotations:
        assert "<b>" not in note.text and note.text.endswith("…")


def test_histogram_is_sorted_by_dense_accuracy() -> None:
    facts = pd.DataFrame({"class": range(10), "name": NAMES.values(), "n_train": range(100, 110), "n_test": 50})
    figure = charts.class_histogram(facts, look())
    order = [int(key) for key in figure.data[0].y]
    assert order[0] == 9 and [DENSE[number] for number in order[1:]] == sorted(DENSE[number] for number in range(9))
    assert list(figure.data[0].marker.color) == [look().colour(number) for number in order]
    assert list(figure.data[0].x) == [100 + number for number in order]
    assert all("<b>" not in text for text in figure.layout.yaxis.ticktext)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_panels_have_the_same_axes(n: int) -> None:
    figure = charts.technique_panels(CURVES, look(), TECHNIQUES[:n])
    assert len(figure.data) == 10 * n and len(figure.layout.annotations) == n
    for place in range(2, n + 1):
        assert figure.layout[f"xaxis{place}"].matches == "x" and figure.layout[f"yaxis{place}"].matches == "y"
    assert "<i>" not in figure.layout.annotations[-1].text


def test_seven_panels_stand_in_two_rows() -> None:
    keys = [f"t{number}" for number in range(7)]
    curves = pd.concat([ONE.assign(technique=key) for key in keys], ignore_index=True)
    figure = charts.technique_panels(curves, look(), keys)
    titles = [figure.layout[f"xaxis{place or ''}"].title.text for place in ("", *range(2, 8))]
    assert titles == [""] * 4 + ["weights kept, %", "", ""]
    assert not any("%" in text for text in figure.layout.xaxis.ticktext)
    assert figure.layout.yaxis5.domain[1] < figure.layout.yaxis.domain[0]


def test_total_chart_has_a_line_per_technique_and_treatment() -> None:
    finetuned = LEVELS.assign(treatment="finetune", run=LEVELS["run"] + "f")
    totals = total_curves(pd.concat([LEVELS, finetuned], ignore_index=True))
    known = CURVES.dropna(subset="accuracy")
    worst = known.loc[known.groupby(["technique", "level"])["accuracy"].idxmin()]
    figure = total_chart(totals, worst, Look(look(), bands=True, spotlight=TECHNIQUES[1]))
    drawn = lines(figure)
    assert len(drawn) == 6 and [trace.line.dash for trace in drawn[:2]] == list(DASHES.values())
    assert [trace.line.color for trace in drawn[::2]] == [legible(technique_colour(key), False) for key in TECHNIQUES]
    named = [trace.name for trace in figure.data if trace.showlegend is not False]
    assert named == ["Restart", "Keep training"]
    beside = {note.text: note.y for note in figure.layout.annotations}
    assert set(beside) == {"Global<br>magnitude", "<b>Channels<br>by L1</b>", "&lt;i&gt;own&lt;/i&gt;"}
    assert [trace.line.width for trace in drawn] == [1.5, 1.5, 3, 3, 1.5, 1.5]
    text = hovered(drawn[0], 3)
    row = worst[(worst["technique"] == TECHNIQUES[0]) & (worst["level"] == 3)].iloc[0]
    assert "<b>Global magnitude with restarts</b>" in text and "level 3, sparsity 87.5 %" in text
    assert f"a long name: {100 * row['accuracy']:.1f} %" in text and "3 training runs" in text
    assert len([trace for trace in figure.data if trace.fill]) == 6


@pytest.mark.parametrize("measure", list(UNFAIRNESS))
def test_unfairness_is_drawn_in_its_unit(measure: str) -> None:
    curves = unfairness_curves(unfairness_table(CLASSES), measure)
    figure = unfairness_chart(curves, measure, Look(look(), bands=False))
    in_points = "points" in figure.layout.yaxis.title.text
    rows = curves[curves["technique"] == TECHNIQUES[0]].sort_values("level")
    np.testing.assert_allclose(lines(figure)[0].y, rows["unfairness"] * (100 if in_points else 1))
    assert in_points == (UNFAIRNESS[measure].unit == "points")
    assert ("pt" in hovered(lines(figure)[0], 1)) == in_points


@pytest.mark.parametrize("n", [MOST_NAMED, MOST_NAMED + 1])
def test_techniques_are_named_at_the_ends_of_their_lines_apart_from_each_other(n: int) -> None:
    totals = total_curves(LEVELS[LEVELS["technique"] == TECHNIQUES[0]])
    every = pd.concat([totals.assign(technique=f"t{place}") for place in range(n)], ignore_index=True)
    worst = pd.DataFrame({name: [] for name in (*VARIANT, "level", "class", "accuracy")}).astype({"level": int})
    figure = total_chart(every, worst, Look(look(), bands=False))
    places = np.sort([note.y for note in figure.layout.annotations])
    assert len(places) == (n if n <= MOST_NAMED else 0)
    assert not len(places) or (np.diff(places).min() > 0.08 and places[0] > 0 and places[-1] <= 1)
    assert sum(trace.showlegend is not False for trace in figure.data) == (0 if len(places) else n)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.floats(0.001, 0.2))
def test_spread_out_keeps_order_and_gap(values: list[float], gap: float) -> None:
    found = spread_out(np.array(values), gap)
    order = np.argsort(values, kind="stable")
    assert np.all(np.diff(found[order]) >= gap * (1 - 1e-9))
    assert np.isclose(found.mean(), np.mean(values))


def test_spread_out_leaves_what_is_apart() -> None:
    np.testing.assert_allclose(spread_out(np.array([0.9, 0.1, 0.5]), 0.1), [0.9, 0.1, 0.5])
    np.testing.assert_allclose(spread_out(np.array([0.5, 0.5]), 0.1), [0.45, 0.55])
    assert len(spread_out(np.array([]), 0.1)) == 0


@given(st.lists(st.floats(0, 1), max_size=10))
def test_names_stay_within_the_chart_and_apart(values: list[float]) -> None:
    spread = spread_out(np.array(values), 0.1)
    places = within(spread, 0.1)
    assert np.argsort(places, kind="stable").tolist() == np.argsort(spread, kind="stable").tolist()
    assert np.all(np.diff(np.sort(places)) > 0.0999) and np.all((places > 0.049) & (places < 0.951 + 1e-9))
