"""Formats: numbers read as people write them, levels can be told apart, text from files stays text."""

import io
import math
import re

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.shared import formats
from pages.shared.names import technique_name


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (formats.percent(0.973), "97.3 %"),
        (formats.percent(math.nan), "—"),
        (formats.points(-0.032), "-3.2 pt"),
        (formats.points(0.032), "+3.2 pt"),
        (formats.points(-0.032, sign=False), "-3.2 pt"),
        (formats.points(-0.0003), "0.0 pt"),
        (formats.points(0.0003), "0.0 pt"),
        (formats.fixed(-0.0001), "0.000"),
        (formats.sparsity(0.0), "0.0 %"),
        (formats.sparsity(0.488), "48.8 %"),
        (formats.sparsity(0.98847), "98.85 %"),
        (formats.sparsity(0.99954), "99.9540 %"),
        (formats.sparsity(1.0), "100 %"),
        (formats.number(1000.0), "1,000"),
        (formats.number(0.0123456), "0.0123"),
        (formats.number(math.inf), "inf"),
        (formats.count(12345), "12,345"),
        (formats.count(pd.NA), "—"),
        (formats.times(2.34), "2.3 times"),
        (formats.plus_minus(0.90, 0.94), "± 2.0"),
        (formats.plus_minus(math.nan, 0.94), ""),
        (formats.unfairness(0.134, "max_min"), "13.4 pt"),
        (formats.unfairness(1.234, "intensification"), "1.23"),
        (technique_name("l1_structured"), "Channels by L1"),
        (technique_name("their own"), "their own"),
    ],
)
def test_a_number_reads_as_expected(made: str, expected: str) -> None:
    assert made == expected


def test_twenty_levels_have_twenty_different_sparsities() -> None:
    assert len({formats.sparsity(1 - 0.8**level) for level in range(21)}) == 21


@given(st.text())
def test_chart_text_holds_no_tag(text: str) -> None:
    assert "<" not in formats.chart_text(text)


@given(st.text(alphabet="<>[]()*_`!#&$:\\|~ab", min_size=1))
def test_plain_text_escapes_every_mark(text: str) -> None:
    escaped = formats.plain(text)
    marks = [i for i, letter in enumerate(escaped) if letter in "<>[]()*_`!#&$:|~"]
    assert all(i and escaped[i - 1] == "\\" for i in marks)


@pytest.mark.parametrize("address", ["http://a.b", "HTTPS://a.b/c", "www.a.b", "me@a.b"])
def test_plain_text_holds_no_address_that_markdown_would_link(address: str) -> None:
    shown = formats.plain(address).replace("\\", "")
    assert not re.search(r"https?://|www\.|@\w", shown, re.IGNORECASE) and shown.replace(formats.JOINER, "") == address


@given(st.lists(st.text(alphabet="=+-@\t\r12,\"'a", max_size=6), min_size=1, max_size=8))
def test_csv_cells_never_begin_like_a_formula(cells: list[str]) -> None:
    table = pd.DataFrame({"name": cells, "number": [-1.5] * len(cells)})
    read = pd.read_csv(io.BytesIO(formats.csv_bytes(table)), dtype={"name": str}, keep_default_na=False)
    assert not any(cell[:1] in ("=", "+", "-", "@", "\t", "\r") for cell in read["name"] if cell)
    assert (read["number"] == -1.5).all()
