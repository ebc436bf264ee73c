"""How a chart is put on a page: the figure with its description, and its menu: as table, CSV, HTML, image format."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import pandas as pd
import streamlit as st
from plotly.basedatatypes import BaseFigure
from streamlit.delta_generator import DeltaGenerator

from pages.shared.charts.drawing import Drawing
from pages.shared.charts.style import ALONE
from pages.shared.formats import count, csv_bytes, plain

SelectionMode = Literal["points", "box", "lasso"]
MOST_CARDS = 30
"""Rows of a table that are cards on a phone; more would not be read there."""

MOST_COLUMNS = 9
"""Columns of a table that have room on a tablet."""

BUTTONS = ["toImage", "zoom2d", "select2d", "resetScale2d", "resetCameraDefault3d"]


def answer(text: str) -> None:
    """The sentence that answers the page's question, set larger than the rest; markdown, names made plain."""
    st.container(key="answer").markdown(text)


def side_by_side(key: str, widths: Sequence[float]) -> Sequence[DeltaGenerator]:
    """Columns that stand beside each other on a wide screen and below each other on a narrow one."""
    return st.container(key=f"beside-{key}").columns(widths, gap="medium")


def show_table(table: pd.DataFrame, key: str, alt: str) -> None:
    """A table of text, markdown in its cells; on a narrow screen each row is a card that names its columns."""
    key = re.sub("[^a-zA-Z0-9_-]", "-", key)
    cells = f".st-key-{key} tbody"
    named = "".join(
        f'{cells} tr > :nth-child({place}):not(:first-child)::before {{content: "{_css_text(name)}: "}}'
        for place, name in enumerate(map(str, table.columns), 1)
    )
    cards = (
        f".st-key-{key} thead {{position: absolute; clip-path: inset(50%)}} "
        f".st-key-{key} div:has(> table) {{overflow: hidden}} {cells} tr > * {{overflow-wrap: anywhere}} "
        f".st-key-{key} table, {cells}, {cells} tr, {cells} tr > :first-child {{display: block; width: 100%}} "
        f"{cells} tr {{padding: 0.5rem 0; border-bottom: 1px solid rgba(127, 127, 127, 0.5)}} "
        f"{cells} tr > * {{display: inline-block; padding: 0.1rem 1rem 0.1rem 0; border: none}} "
        f"{cells} tr > * {{text-align: left !important; font-size: 0.875rem}} {cells} p {{display: inline}} "
        f"{cells} tr > * * {{max-width: none}} "
        f"{cells} tr > :first-child {{font-weight: 600}} {named}"
    )
    with st.container(key=key):
        st.html(f"<style>@media (max-width: 1100px) {{{cards}}}</style>")
        st.table(table, border="horizontal", hide_index=True, alt=alt)


def show_rows(table: pd.DataFrame, key: str, alt: str, **look: Any) -> None:
    """A table that can be sorted; where it would scroll in a frame, each row is a card instead.

    That is on a phone, and on a tablet where it has more than MOST_COLUMNS.

    `look` goes to Streamlit's table; of many rows the first MOST_CARDS have cards.
    """
    look = {"hide_index": True, "key": key, "alt": alt, **look}
    cards = card_rows(table.head(MOST_CARDS), look.get("column_config") or {})
    name = re.sub("[^a-zA-Z0-9_-]", "-", f"broad-{key}" if cards.shape[1] > MOST_COLUMNS else key)
    with st.container(key=f"wide-{name}"):
        st.dataframe(table, **look)
    with st.container(key=f"cards-{name}"):
        show_table(cards, f"{key}-cards", alt)
        if len(table) > MOST_CARDS:
            st.caption(f"The first {MOST_CARDS} of {count(len(table))}; a wider screen shows all.")


def card_rows(table: pd.DataFrame, looks: Mapping[str, Any]) -> pd.DataFrame:
    """The table as text for cards: no hidden columns, numbers as their column shows them, a mark before its name."""
    shown = [str(name) for name in table.columns if looks.get(name, {}) is not None]
    columns = {
        str((looks.get(name) or {}).get("label") or name): [
            _cell(value, ((looks.get(name) or {}).get("type_config") or {}).get("format")) for value in table[name]
        ]
        for name in shown
    }
    marks = columns.pop("", None)
    if marks and columns:
        first = next(iter(columns))
        columns[first] = [f"{mark} {name}".strip() for mark, name in zip(marks, columns[first], strict=True)]
    return pd.DataFrame(columns)


def _css_text(name: str) -> str:
    """A name as a style sheet reads it inside quotes, whatever it holds."""
    return "".join(letter if letter.isalnum() or letter == " " else f"\\{ord(letter):x} " for letter in name)


def _cell(value: Any, form: str | None) -> str:
    """One value as a column shows it; markdown."""
    if pd.isna(value):
        return ""
    return plain(form % value if form and "%" in form and not isinstance(value, str) else value)


def show_chart(
    figure: BaseFigure,
    key: str,
    alt: str,
    table: pd.DataFrame | Callable[[], pd.DataFrame],
    selects: bool | Callable[[], None] = False,
    caption: str = "",
    modes: Sequence[SelectionMode] = ("points",),
) -> Any:
    """Draw a figure with its menu; the selection where `selects`, else nothing.

    `alt` says in a sentence what the chart shows; `table` holds the numbers behind it. `selects`
    may be what to call when a point is chosen; it finds the selection in the session under `key`. `modes` are how
    points can be chosen.
    """
    as_table, image = bool(st.session_state.get(f"{key}-table")), st.session_state.get(f"{key}-image") or "png"
    event = None
    if as_table:
        st.dataframe(_table(table), hide_index=True, height=int(_height(figure) or 450), key=f"{key}-rows")
    else:
        config = {
            "displaylogo": False,
            "modeBarButtons": [_buttons(figure, bool(selects)) + ["lasso2d"] * ("lasso" in modes)],
            "toImageButtonOptions": {"format": image, "filename": key, "scale": 2},
        }
        event = st.plotly_chart(
            figure,
            key=key,
            config=config,
            alt=alt,
            on_select=selects if callable(selects) else "rerun" if selects else "ignore",
            selection_mode=modes,
        )
    look: dict[str, Any] = {"horizontal_alignment": "distribute", "vertical_alignment": "center", "gap": "small"}
    below = st.container(horizontal=True, key=f"below-{key}", **look)
    if caption:
        below.container(width="stretch").caption(caption)
    with below.container(width="content"):
        _menu(figure, key, table, as_table, image)
    return event if selects else None


@st.fragment
def _menu(
    figure: BaseFigure, key: str, table: pd.DataFrame | Callable[[], pd.DataFrame], as_table: bool, image: str
) -> None:
    """The menu of a chart, drawn alone when it opens; closed, with everything as usual, it is no more than a button.

    `as_table` and `image` are what the chart was drawn by.
    """
    menu = st.popover("Table / Download", type="tertiary", key=f"{key}-menu", on_change="rerun")
    if not (menu.open or as_table or image != "png"):
        return
    with menu:
        wanted = st.toggle("Show as table", key=f"{key}-table")
        saved = st.segmented_control("Camera button saves", ["png", "svg"], default="png", key=f"{key}-image")
        st.download_button(
            "CSV", lambda: csv_bytes(_table(table)), f"{key}.csv", "text/csv", key=f"{key}-csv", on_click="ignore"
        )
        st.download_button(
            "HTML",
            lambda: figure.to_html(ALONE, include_plotlyjs=True),
            f"{key}.html",
            "text/html",
            key=f"{key}-html",
            on_click="ignore",
        )
    if (wanted, saved or "png") != (as_table, image):
        st.rerun()


def _buttons(figure: BaseFigure, selects: bool) -> list[str]:
    """The buttons that do something in this figure; one to reset, of the plane or of the camera."""
    types = figure.types if isinstance(figure, Drawing) else {trace.type for trace in figure.data}
    deep = any(name.endswith("3d") for name in types)
    idle = {"zoom2d", "select2d", "resetScale2d"} if deep else {"resetCameraDefault3d"}
    return [name for name in BUTTONS if name not in idle and (selects or name != "select2d")]


def _height(figure: BaseFigure) -> int | None:
    height: int | None = figure.height if isinstance(figure, Drawing) else figure.layout.height
    return height


def _table(table: pd.DataFrame | Callable[[], pd.DataFrame]) -> pd.DataFrame:
    return table() if callable(table) else table
