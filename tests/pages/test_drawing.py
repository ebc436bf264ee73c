"""Plain figures: what is sent is what Plotly would have sent."""

import json
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import plotly.io
import pytest
from _plotly_utils.exceptions import PlotlyError

from pages.shared.charts.drawing import Drawing
from pages.shared.charts.style import chart_layout, sparsity_look

TRACES = [
    {"type": "scatter", "x": np.arange(3.0), "y": [1, None, 2], "name": "a<b", "marker": {"size": np.array([1, 2, 3])}},
    {"type": "bar", "x": np.array([0.5]), "y": ["one"], "orientation": "h"},
]
LAYOUT = chart_layout(
    300, xaxis=sparsity_look("kept"), yaxis={"title": "a title"}, shapes=[{"type": "line", "x0": 0, "x1": 1}]
)


def plain(figure: object) -> Any:
    """What a browser gets, numbers as lists; typed arrays are Plotly's own shorthand for them."""

    def read(value: object) -> object:
        if isinstance(value, dict) and "bdata" in value:
            import base64

            return np.frombuffer(base64.b64decode(value["bdata"]), value["dtype"]).tolist()
        if isinstance(value, dict):
            return {name: read(part) for name, part in value.items()}
        return [read(part) for part in value] if isinstance(value, list) else value

    return read(json.loads(plotly.io.to_json(figure, validate=False)))


def test_what_is_sent_equals_what_plotly_sends() -> None:
    sent, plotly_s = (plain(figure(TRACES, LAYOUT).to_dict()) for figure in (Drawing, go.Figure))
    look, whole = sent["layout"].pop("template"), plotly_s["layout"].pop("template")
    assert sent == plotly_s
    assert look == whole | {"data": {kind: part for kind, part in whole["data"].items() if kind in ("scatter", "bar")}}
    assert "scatter" in look["data"]


def test_numbers_take_four_bytes_each_and_keep_their_shape() -> None:
    customdata = np.arange(6.0).reshape(3, 2) / 3
    drawing = Drawing([{"type": "scatter", "y": pd.Series([0.1, np.nan]), "customdata": customdata}], {})
    (sent,) = drawing.to_dict()["data"]
    assert len(sent["customdata"]["bdata"]) == 6 * 4 * 4 / 3 and sent["customdata"]["shape"] == "3, 2"
    np.testing.assert_allclose(plain(sent)["y"], [0.1, np.nan], rtol=1e-6)
    np.testing.assert_allclose(drawing.data[0].customdata, customdata, rtol=0)


def test_whoever_looks_into_it_finds_plotly_s_figure() -> None:
    drawing = Drawing(TRACES, LAYOUT)
    assert drawing.types == {"scatter", "bar"} and drawing.layout.xaxis.title.text == "weights kept"
    assert [trace.type for trace in drawing.data] == ["scatter", "bar"]
    assert "weights kept" in drawing.to_html(full_html=False, include_plotlyjs=False)


def test_a_mistake_in_it_is_found_by_looking() -> None:
    with pytest.raises((ValueError, PlotlyError)):
        _ = Drawing([{"type": "scatter", "colour": "red"}], {}).data


def test_a_change_made_in_python_stays() -> None:
    drawing = Drawing(TRACES, LAYOUT)
    drawing.update_layout(title="Mine").update_traces(opacity=0.5).add_hline(y=1.5)
    drawing.layout.yaxis.title = "another title"
    sent = plain(drawing)
    assert sent["layout"]["title"]["text"] == "Mine" and sent["layout"]["yaxis"]["title"]["text"] == "another title"
    assert [trace["opacity"] for trace in sent["data"]] == [0.5, 0.5] and len(sent["layout"]["shapes"]) == 2
    assert "another title" in drawing.to_html(full_html=False, include_plotlyjs=False)
