"""Every address field of every page: what its controls are bound to, and what pages read by themselves."""

import ast
from pathlib import Path

from pages.shared.frame import SHARED_KEYS
from pages.shared.menu import MENU
from pages.views.frontier.controls import FLOOR_KEYS

TOP = Path(__file__).resolve().parents[2]
PAGES = tuple(entry.file for entry in MENU)
CONTROLS = {"selectbox", "segmented_control", "multiselect", "pills", "select_slider", "slider", "number_input"}
SWITCHES = {"toggle", "checkbox"}
PICKED = ("axis", "level")
"""Fields of pickers that several pages use."""
READ = {"app.py": ("tour",), "pages/frontier.py": ("threshold", *FLOOR_KEYS.values())}
"""Fields that a page reads without a control, or whose names stand elsewhere."""


def fields_of(file: str) -> tuple[str, ...]:
    """Names of the address fields of a page, by the keys of the controls in its files and in the frame."""
    view = "overview" if file == "app.py" else Path(file).stem
    own = [TOP / file, *sorted((TOP / "pages" / "views" / view).rglob("*.py"))]
    return tuple(dict.fromkeys((*SHARED_KEYS, *PICKED, *READ.get(file, ()), *(key for p in own for key in _keys(p)))))


def _keys(path: Path) -> list[str]:
    """Keys of the controls in a file."""
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    controls = [
        call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr in CONTROLS | SWITCHES
    ]
    values = [word.value for call in controls for word in call.keywords if word.arg == "key"]
    return [value.value for value in values if isinstance(value, ast.Constant)]
