"""Plain figures: what is sent is what Plotly would have sent."""

import json

import numpy as np
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


def plain(figure: object) -> object:
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
    assert plain(Drawing(TRACES, LAYOUT).to_dict()) == plain(go.Figure(TRACES, LAYOUT).to_dict())


def test_whoever_looks_into_it_finds_plotly_s_figure() -> None:
    drawing = Drawing(TRACES, LAYOUT)
    assert drawing.types == {"scatter", "bar"} and drawing.layout.xaxis.title.text == "weights kept"
    assert [trace.type for trace in drawing.data] == ["scatter", "bar"]
    assert "weights kept" in drawing.to_html(full_html=False, include_plotlyjs=False)


def test_a_mistake_in_it_is_found_by_looking() -> None:
    with pytest.raises((ValueError, PlotlyError)):
        _ = Drawing([{"type": "scatter", "colour": "red"}], {}).data
