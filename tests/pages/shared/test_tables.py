"""Tables whose rows are cards on a phone: what the cards say, whatever the table holds."""

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.shared.layout import MOST_CARDS, card_rows


def test_cards_say_what_the_table_shows() -> None:
    table = pd.DataFrame(
        {"": ["★", ""], "network": ["<b>one</b>", "two"], "share": [75.4, np.nan], "hidden": [1, 2], "n": [3, 4]}
    )
    looks = {
        "share": st.column_config.ProgressColumn("wins", format="%.0f %%"),
        "hidden": None,
        "": st.column_config.TextColumn(width=30),
    }
    cards = card_rows(table, looks)
    assert list(cards) == ["network", "wins", "n"]
    assert cards["network"].tolist() == ["★ \\<b\\>one\\</b\\>", "two"]
    assert cards["wins"].tolist() == ["75 %", ""] and cards["n"].tolist() == ["3", "4"]


def show_rows_of(n: int) -> None:
    import pandas as pd

    from pages.shared.layout import show_rows

    show_rows(pd.DataFrame({'}</style><b>"x': range(n), "said": "text"}), 'key "}', "Some rows.")


def test_the_first_rows_have_cards() -> None:
    few, many = (AppTest.from_function(show_rows_of, args=(n,)).run() for n in (3, MOST_CARDS + 1))
    assert len(few.dataframe) == len(few.table) == len(many.dataframe) == len(many.table) == 1
    assert len(few.table[0].value) == 3 and len(many.table[0].value) == MOST_CARDS
    assert not few.caption and f"The first {MOST_CARDS} of {MOST_CARDS + 1}" in many.caption[0].value
    style = next(str(part.proto.body) for part in few.get("html"))
    assert style.count("</style>") == 1 and "<b>" not in style and '"}' not in style.replace(': "}', "")
