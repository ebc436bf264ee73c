"""Hover: a sentence for all points of a trace, numbers point by point; what is unknown is not said."""

import numpy as np
import plotly.graph_objects as go
import pytest

from pages.shared.charts.hover import d3_format, hover
from tests.support.dashboard.hovering import hovered

WORDS = "<b>{title}</b> {text}: {value:.1f} %[ ± {half:+.2f}], {seeds}"


def said(**columns: object) -> list[str]:
    values = {"value": [1.04, 2.06], "half": [0.5, 0.25], "seeds": ["1 seed", "2 seeds"]} | columns
    part = hover(WORDS, "a %{x}", ["one", "%{y}"], **values)
    return [hovered(go.Scatter(x=[0, 1], y=[0, 1], **part), place) for place in (0, 1)]


def test_points_have_their_numbers_and_words() -> None:
    assert said() == ["<b>a %{x}</b> one: 1.0 % ± +0.50, 1 seed", "<b>a %{x}</b> %{y}: 2.1 % ± +0.25, 2 seeds"]


@pytest.mark.parametrize(("half", "clauses"), [([np.nan, 0.5], ("", " ± +0.50")), ([np.nan, np.nan], ("", ""))])
def test_a_clause_is_left_out_where_its_number_is_not_known(half: list[float], clauses: tuple[str, str]) -> None:
    first, second = said(half=half)
    assert (first, second) == (
        f"<b>a %{{x}}</b> one: 1.0 %{clauses[0]}, 1 seed",
        f"<b>a %{{x}}</b> %{{y}}: 2.1 %{clauses[1]}, 2 seeds",
    )


def test_what_is_the_same_for_all_is_said_in_the_sentence_and_never_read_as_a_field() -> None:
    part = hover("{name}, n {n:,.0f}", name=["%{x}", "%{x}"], n=[1234, 1234])
    assert "customdata" not in part and part["hovertemplate"] == "&#37;{x}, n 1,234<extra></extra>"
    assert hovered(go.Scatter(x=[0, 1], y=[0, 1], **part), 1) == "%{x}, n 1,234"


def test_numbers_are_an_array_of_one_row_per_point() -> None:
    part = hover("{a:.1f} {b:.1f}", a=[1, 2, 3], b=[4, 5, 6.5])
    np.testing.assert_array_equal(part["customdata"], [[1, 4], [2, 5], [3, 6.5]])


@pytest.mark.parametrize(
    ("value", "form", "text"), [(0.0012345, ".3~r", "0.00123"), (12345.0, ".3~r", "12,300"), (1.5, ".3~r", "1.5")]
)
def test_significant_digits_are_written_as_d3_does(value: float, form: str, text: str) -> None:
    assert d3_format(value, form) == text
