"""Series of alphas beside networks that trained as long."""

import pandas as pd
import pytest

from engine.analysis.curves.controls import against_control
from engine.analysis.distortion.series_controls import CONTROL_CELLS, control_cells, series_beside_controls

MODELS = pd.DataFrame(
    {
        "series": ["tuned", "tuned", "rewound", "rewound"],
        "seed": [0, 1, 0, 1],
        "level": 1,
        "ratio": 2.0,
        "alpha": [0.9, 0.7, 1.1, 1.3],
        "accuracy": 0.9,
        "dense_accuracy": 0.8,
    }
)
CONTROLS = pd.DataFrame({"seed": [0, 1], "level": 1, "alpha": [0.5, 0.5], "accuracy": [0.85, 0.86]})


def test_only_series_with_controls_stand_beside_them() -> None:
    rows, controlled = series_beside_controls(MODELS, {"tuned": CONTROLS})
    assert controlled == {"tuned"}
    tuned, rewound = rows[rows["series"] == "tuned"], rows[rows["series"] == "rewound"]
    assert tuned["alpha"].tolist() == pytest.approx([1.4, 1.2]) and tuned["dense_accuracy"].tolist() == [0.85, 0.86]
    assert rewound["alpha"].tolist() == [1.1, 1.3] and set(rewound["dense_accuracy"]) == {0.8}


def test_a_series_that_lacks_a_control_stays_beside_dense() -> None:
    rows, controlled = series_beside_controls(MODELS, {"tuned": CONTROLS[:1]})
    assert not controlled and rows["alpha"].tolist() == MODELS["alpha"].tolist()


def test_control_cells_are_those_of_against_control() -> None:
    rows = control_cells(MODELS, {"tuned": CONTROLS}, 0.99)
    against = against_control(MODELS[:2], CONTROLS, "alpha", 0.99)
    assert against is not None
    expected = ("tuned", 2.0, against.control, against.change, against.low, against.high)
    assert [tuple(row) for row in rows.itertuples(index=False)] == [expected]
    assert list(control_cells(MODELS, {}, 0.99)) == list(CONTROL_CELLS)
