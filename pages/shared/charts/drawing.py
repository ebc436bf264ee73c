"""Figures that are redrawn at every move of a slider: plain dictionaries, sent as they are.

Plotly checks and copies a figure each time it is made and shown, which takes longer than everything else on a page.
What stands here is checked when somebody looks into it, as tests do.
"""

from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any

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
        return {**self._plain, "layout": {"template": _template(plotly.io.templates.default), **self._plain["layout"]}}

    @property
    def types(self) -> set[str]:
        """Kinds of traces in it."""
        return {trace["type"] for trace in self._plain["data"]}

    @cached_property
    def _checked(self) -> go.Figure:
        return go.Figure(self._plain["data"], self._plain["layout"])

    @property
    def data(self) -> Any:
        """The traces, checked by Plotly."""
        return self._checked.data

    @property
    def layout(self) -> Any:
        """The layout, checked by Plotly."""
        return self._checked.layout


def _spelt(value: Any) -> Any:
    """A part of the layout with its title in full; Plotly's Python takes a text for it, its JavaScript does not."""
    if isinstance(value, dict) and isinstance(value.get("title"), str):
        return value | {"title": {"text": value["title"]}}
    return value


@cache
def _template(name: str | None) -> dict[str, Any]:
    return dict(plotly.io.templates[name].to_plotly_json()) if name else {}
