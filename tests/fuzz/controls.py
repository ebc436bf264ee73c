"""The controls of a page that is open in a test, and their ends."""

from typing import Any

from streamlit.proto.ButtonGroup_pb2 import ButtonGroup
from streamlit.testing.v1 import AppTest

FRAME = ("study", "dataset", "network", "protocol")
"""Controls that choose what is shown."""


def controls(app: AppTest) -> dict[str, Any]:
    """The controls of a page by their keys, but for those of FRAME."""
    kinds = (app.selectbox, app.multiselect, app.button_group, app.select_slider, app.slider, app.number_input)
    found = {str(one.key): one for kind in (*kinds, app.toggle) for one in kind if one.key and not one.disabled}
    return {key: one for key, one in found.items() if key not in FRAME}


def push(control: Any, last: bool) -> None:
    """Move a control to its last value, or to its first."""
    if control.type in ("slider", "number_input"):
        control.set_value(control.max if last else control.min)
    elif control.type == "toggle":
        control.set_value(last)
    elif control.options:
        end = control.options[-1 if last else 0]
        if control.type == "selectbox":
            control.select(end)
        elif control.type == "multiselect":
            control.set_value([end] if last else control.options[: control.proto.max_selections or None])
        else:
            several = control.type == "button_group" and control.proto.click_mode == ButtonGroup.ClickMode.MULTI_SELECT
            control.set_value([end] if several else end)
