"""The two pictures of a decision record: all networks with the chosen one starred, and its groups before and after."""

import math
from collections.abc import Callable

from engine.shipping.decision.decision_facts import GroupFacts, RecordFacts
from engine.shipping.decision.decision_words import clipped, percent
from engine.shipping.decision.svg import GRID, INK, SOFT, Axis, element, picture, span, star, steps

WIDTH, HEIGHT = 360.0, 145.0
MOST_GROUPS = 7
FRONT, BEFORE = "#0072B2", "#D55E00"
KEPT = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)


def frontier_picture(record: RecordFacts) -> str:
    """Weights kept against unfairness, the frontier as a line, the chosen network as a star."""
    chart = record.chart
    left, right, top, bottom = 40.0, WIDTH - 8, 8.0, HEIGHT - 34
    kept = [max(1 - sparse, 1e-4) for sparse, _, _ in chart.points] or [1.0]
    low, high = span([math.log10(share) for share in kept])
    across = Axis(high, low, left, right)  # dense on the left, sparse on the right
    up = Axis(*_from_nothing([gap for _, gap, kind in chart.points if kind != "rejected"]), bottom, top)
    factor = 100.0 if chart.unfairness_in_points else 1.0
    parts = _rules(up, lambda gap: f"{factor * gap:g}", left, right)
    for share in (share for share in KEPT if low <= math.log10(share) <= high):
        parts.append(
            element("text", f"{100 * share:g}", x=across.at(math.log10(share)), y=bottom + 13, **_small("middle"))
        )
    unit = ", points" if chart.unfairness_in_points else ""
    parts.append(element("text", "weights kept, %", x=right, y=HEIGHT - 6, **_small("end")))
    label = clipped(f"{record.rule.measure_label}{unit}", 44)
    parts.append(element("text", label, x=left, y=HEIGHT - 6, **_small("start")))

    def place(sparse: float, gap: float) -> tuple[float, float]:
        return across.at(math.log10(max(1 - sparse, 1e-4))), up.at(gap)

    looks = {"rejected": (1.6, "#9aa4af"), "kept": (2.4, FRONT)}
    for kind, (radius, colour) in looks.items():
        for x, y in (place(sparse, gap) for sparse, gap, its in chart.points if its == kind):
            parts.append(element("circle", cx=x, cy=y, r=radius, fill=colour, fill_opacity="0.75"))
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in chart.frontier))
    if line:
        parts.append(element("polyline", points=line, fill="none", stroke=FRONT, stroke_width="1.3"))
    for sparse, gap, kind in chart.points:
        x, y = place(sparse, gap)
        if kind == "runner-up":
            parts.append(element("circle", cx=x, cy=y, r=4.0, fill="none", stroke=INK, stroke_width="1.3"))
        elif kind == "chosen":
            parts.append(star(x, y, 7.0))
    words = (
        f"{len(chart.points)} of {chart.n_points} networks by weights kept and unfairness; the chosen one is starred."
    )
    return picture(WIDTH, HEIGHT, parts, words)


def group_picture(record: RecordFacts) -> str:
    """Accuracy of the groups that lose most, before and after, with intervals."""
    rows = sorted((row for row in record.groups if row.after is not None), key=_change)[:MOST_GROUPS]
    left, right, top = 112.0, WIDTH - 12, 8.0
    bottom = HEIGHT - 34
    values = [value for row in rows for value in (row.before, row.after, row.low, row.high) if value is not None]
    low, high = span(values)
    across = Axis(max(low, 0.0), min(high, 1.0), left, right)
    parts = []
    for value in steps(across.low, across.high):
        x = across.at(value)
        parts.append(element("line", x1=x, x2=x, y1=top, y2=bottom, stroke=GRID, stroke_width="0.7"))
        parts.append(element("text", f"{100 * value:g}", x=x, y=bottom + 13, **_small("middle")))
    for number, row in enumerate(rows):
        y = top + (number + 0.5) * (bottom - top) / len(rows)
        parts.append(element("text", clipped(row.group, 19), x=left - 6, y=y + 3, **_small("end")))
        if row.low is not None and row.high is not None:
            start, end = across.at(row.low), across.at(row.high)
            parts.append(element("line", x1=start, x2=end, y1=y, y2=y, stroke=INK, stroke_width="1"))
        if row.before is not None:
            parts.append(element("circle", cx=across.at(row.before), cy=y, r=3.2, fill="white", stroke=BEFORE))
        assert row.after is not None
        parts.append(element("circle", cx=across.at(row.after), cy=y, r=3.0, fill=INK))
    parts.append(
        element("text", "accuracy, %: ring before, dot after, line 95 %", x=right, y=HEIGHT - 6, **_small("end"))
    )
    worst = f"; {rows[0].group} loses most, {percent(rows[0].before)} to {percent(rows[0].after)}" if rows else ""
    return picture(WIDTH, HEIGHT, parts, f"Accuracy of {len(rows)} groups before and after{worst}.")


def _rules(axis: Axis, written: Callable[[float], str], left: float, right: float) -> list[str]:
    parts = []
    for value in steps(axis.low, axis.high):
        y = axis.at(value)
        parts.append(element("line", x1=left, x2=right, y1=y, y2=y, stroke=GRID, stroke_width="0.7"))
        parts.append(element("text", written(value), x=left - 5, y=y + 3, **_small("end")))
    return parts


def _small(anchor: str) -> dict[str, str]:
    return {"font_size": "9", "fill": SOFT, "text_anchor": anchor}


def _from_nothing(values: list[float]) -> tuple[float, float]:
    return 0.0, 1.05 * max([*values, 0.0]) or 0.01


def _change(row: GroupFacts) -> float:
    return 0.0 if row.change is None else row.change
