"""Figures of plain dictionaries, sent as they are.

Plotly checks and copies a figure each time it is made and shown, which takes longer than everything else on a page.
What stands here is checked when somebody looks into it, as tests and notebooks do.
"""

from base64 import b64encode
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import plotly.io
from plotly.basedatatypes import BaseFigure


class Drawing(BaseFigure):  # type: ignore[misc, unused-ignore]  # plotly has no types
    """A figure of traces and layout as Plotly's JavaScript takes them; whoever asks for more gets Plotly's own."""

    def __init__(self, traces: Sequence[dict[str, Any]], layout: dict[str, Any]) -> None:
        spelt = {name: _spelt(value) for name, value in layout.items()}
        self._plain: dict[str, Any] = {"data": list(traces), "layout": spelt}

    def to_dict(self) -> dict[str, Any]:
        """What is sent: with the look that the page gives its charts, unless it has one of its own."""
        look = _template(plotly.io.templates.default, frozenset(self.types))
        if "figure" in self.__dict__:  # somebody looked into it, and may have changed it
            return dict(self.figure.to_dict())
        return {"data": _sent(self._plain["data"]), "layout": {"template": look, **self._plain["layout"]}}

    @property
    def types(self) -> set[str]:
        """Kinds of traces in it."""
        return {trace["type"] for trace in self._plain["data"]}

    @property
    def height(self) -> int | None:
        """Pixels from top to bottom, where it says so."""
        height: int | None = self._plain["layout"].get("height")
        return height

    @cached_property
    def figure(self) -> go.Figure:
        """Plotly's own figure, checked, for whoever wants to change it."""
        return go.Figure(self._plain["data"], self._plain["layout"])

    @property
    def data(self) -> Any:
        """The traces, checked by Plotly."""
        return self.figure.data

    @property
    def layout(self) -> Any:
        """The layout, checked by Plotly."""
        return self.figure.layout


def _changing(name: str) -> Callable[..., Drawing]:
    """The method of this name that changes a figure, done to Plotly's own."""

    def change(self: Drawing, *arguments: Any, **options: Any) -> Drawing:
        getattr(self.figure, name)(*arguments, **options)
        return self

    change.__name__, change.__doc__ = name, getattr(go.Figure, name).__doc__
    return change


for _name in ("update", "add_trace", "add_traces", "update_layout", "update_traces", "update_xaxes", "update_yaxes"):
    setattr(Drawing, _name, _changing(_name))
for _name in ("add_annotation", "add_shape", "add_hline", "add_vline", "add_hrect", "add_vrect", "update_annotations"):
    setattr(Drawing, _name, _changing(_name))


def _spelt(value: Any) -> Any:
    """A part of the layout with its title in full; Plotly's Python takes a text for it, its JavaScript does not."""
    if isinstance(value, dict) and isinstance(value.get("title"), str):
        return value | {"title": {"text": value["title"]}}
    return value


def _sent(value: Any) -> Any:
    """Part of a trace with its numbers as Plotly's typed arrays: four bytes each, more than a screen can show."""
    if isinstance(value, dict):
        return {name: _sent(part) for name, part in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [_sent(part) for part in value]
    if isinstance(value, pd.Series):
        value = value.to_numpy()
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
        return value
    content = b64encode(np.ascontiguousarray(value, "<f4").tobytes()).decode("ascii")
    shape = {"shape": ", ".join(map(str, value.shape))} if value.ndim > 1 else {}
    return {"dtype": "f4", "bdata": content, **shape}


@cache
def _template(name: str | None, types: frozenset[str]) -> dict[str, Any]:
    """The look of this name, as far as figures of these kinds of traces use it."""
    if not name:
        return {}
    look = plotly.io.templates[name].to_plotly_json()
    return {**look, "data": {kind: part for kind, part in look.get("data", {}).items() if kind in types}}
