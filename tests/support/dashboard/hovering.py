"""What hover says of a point of a figure, written as the browser writes it."""

import re
from typing import Any

from pages.shared.charts.hover import d3_format

_FIELD = re.compile(r"%\{(\w+)(?:\[(\d+)\])?(?::([^}]*))?\}")


def hovered(trace: Any, place: int) -> str:
    """The text that stands beside the point at this place of a trace."""

    def written(match: re.Match[str]) -> str:
        values = trace[match[1]]
        value = values if match[1] == "meta" else values[place]
        return d3_format(value[int(match[2])] if match[2] else value, match[3] or "")

    return _FIELD.sub(written, trace.hovertemplate).removesuffix("<extra></extra>").replace("&#37;{", "%{")
