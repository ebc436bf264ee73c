"""Sizes on disk: the table and the sentence, and the Frontier on runs that were quantized."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from engine.run_spec import RunSpec
from engine.runs.run import run_experiment
from engine.store.study import Study
from pages.views.frontier.sizes import size_sentence, size_table
from tests.pages.conftest import OpenPage, unfold, words

SPEC = RunSpec("digits", "lenet", "int8_dynamic", "finetune", levels=2, epochs=2)


@pytest.fixture(scope="module")
def quantized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("quantized")
    for technique in ("int8_dynamic", "global_unstructured_int8_dynamic", "global_unstructured"):
        run_experiment(replace(SPEC, technique=technique), Study(root / "bits"), root, "cpu")
    return root


def test_frontier_says_how_large_quantized_networks_are(quantized: Path, open_page: OpenPage) -> None:
    app = open_page("pages/frontier.py", "bits", root=quantized)
    said = words(app)
    assert "takes" in said and "kB instead of" in said and "Size on disk" in said
    opened = unfold(app, "files")
    table = next(frame.value for frame in opened.dataframe if "kB" in frame.value and "value" not in frame.value)
    assert (table["technique"] == "Dense").sum() == 1, "techniques share the dense network"
    assert {"Int8, dynamic", "Global magnitude, int8, dynamic"} <= set(table["technique"])
    dense = table[table["technique"] == "Dense"]["kB"].item()
    assert table[table["technique"] == "Int8, dynamic"]["kB"].item() < dense / 2
    assert table["kB"].is_monotonic_increasing


def test_without_an_uncut_network_there_is_no_sentence() -> None:
    table = pd.DataFrame({"technique": ["A"], "level": [1], "sparsity": ["50.0 %"], "accuracy": [90.0], "kB": [1.0]})
    assert size_sentence(table) == ""


def test_points_that_are_filtered_out_have_no_row(quantized: Path) -> None:
    from engine.analysis.columns import MODEL

    keys = dict.fromkeys(MODEL, "x") | {"level": 1}
    sizes = pd.DataFrame([keys | {"bytes": 10, "bytes_zipped": 5}])
    points = pd.DataFrame([keys | {"technique": "y", "sparsity": 0.0, "accuracy": 1.0, "max_min": 0.0, "n_seeds": 1}])
    assert size_table(sizes, points, "max_min").empty


def test_a_technique_that_cuts_nothing_says_so() -> None:
    from pages.shared.names import point_name

    point = pd.Series(
        {"technique": "int8_static", "treatment": "finetune", "mitigation": "none", "level": 1, "sparsity": 0}
    )
    assert point_name(point) == "Int8, static, without cutting a weight"
