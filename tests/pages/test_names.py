"""Names of data sets, variants and operating points, in sentences, charts and tables."""

import pandas as pd
import pytest

from pages.shared import formats, names
from tests.pages.conftest import NASTY

POINT = {
    "technique": "global_unstructured",
    "treatment": "rewind",
    "mitigation": "none",
    "level": 3,
    "sparsity": 0.5,
}


def test_what_no_table_knows_keeps_its_key() -> None:
    assert names.technique_name("global_unstructured") == "Global magnitude" and names.technique_name("own") == "own"
    assert names.network_name("own") == names.measure_name("own") == names.treatment_name("own") == "own"
    assert names.treatment_name("rewind") == "Restart"
    assert names.network_name("mine.nets:small") == "small" and names.dataset_name("not a path: x") == "not a path: x"


def test_data_set_names_an_unusual_split() -> None:
    assert names.dataset_name("qmnist", "writers") == "QMNIST (writers)"
    assert names.dataset_name("qmnist", "official") == names.dataset_name("qmnist") == "QMNIST"
    assert names.subject_name("lenet", "qmnist") == "LeNet on QMNIST"


def test_variant_labels_say_what_tells_them_apart() -> None:
    one, other = ("random", "rewind", "none"), ("random", "finetune", "none")
    assert list(names.variant_labels([one])) == [names.technique_name("random")]
    assert names.variant_labels([one, other]) == {
        f"{names.technique_name('random')}, restart": one,
        f"{names.technique_name('random')}, keep training": other,
    }
    mitigated = ("random", "rewind", "after")
    assert list(names.variant_labels([one, mitigated]))[1].endswith(", mitigation after")


@pytest.mark.parametrize(
    ("name", "plain", "mitigated"),
    [
        (
            names.variant_name,
            "Global magnitude with restarts",
            "Global magnitude with restarts, mitigated after pruning",
        ),
        (
            names.point_name,
            "Global magnitude with restarts at 50.0 % sparsity",
            "Global magnitude with restarts, mitigated after pruning, at 50.0 % sparsity",
        ),
        (names.point_label, "Global magnitude, Restart", "Global magnitude, Restart, mitigated after pruning"),
        (names.point_short, "Global magnitude, restart", "Global magnitude, restart, mitigated after pruning"),
        (
            names.point_with_level,
            "Global magnitude, restart, level 3",
            "Global magnitude, restart, mitigated after pruning, level 3",
        ),
    ],
)
def test_forms_of_a_point(name, plain: str, mitigated: str) -> None:
    assert name(POINT) == name(pd.Series(POINT)) == name(POINT | {"mitigation": ""}) == plain
    assert name(POINT | {"mitigation": "after"}) == mitigated


def test_dense_points_name_no_technique() -> None:
    dense = POINT | {"level": 0}
    assert names.point_name(dense) == names.point_with_level(dense) == "the dense network"
    assert names.point_label(dense) == "Dense network"
    assert names.point_short(dense) == names.technique_at("random", 0) == "Dense"


def test_legend_names_the_treatment_only_where_asked() -> None:
    assert names.legend_label("global_unstructured", "none") == "Global magnitude"
    assert (
        names.legend_label("global_unstructured", "after", "rewind")
        == "Global magnitude, mitigated after pruning, Restart"
    )


def test_sentences_and_charts_show_foreign_names_as_they_are() -> None:
    point = POINT | {"technique": NASTY, "treatment": NASTY, "mitigation": NASTY}
    assert names.point_name(point).startswith(formats.plain(NASTY))
    assert "<img" not in names.point_label(point) and "<img" not in names.legend_label(NASTY, NASTY, NASTY)


def test_a_treatment_that_nobody_stated_is_left_out_of_names() -> None:
    row = {"technique": "magnitude", "treatment": "unstated", "mitigation": "none", "level": 2, "sparsity": 0.9}
    said = (names.variant_name(row), names.point_name(row), names.legend_label("magnitude", "none", "unstated"))
    assert all("stated" not in text and " with" not in text for text in said), said
    assert "with restarts" in names.variant_name(row | {"treatment": "rewind"}).lower()


def test_codes_of_groups_have_names() -> None:
    assert names.group_name("series", "hsf4") == names.group_in_words("series", "hsf4") == "students (hsf4)"
    assert names.group_name("region", "north") == "north" and names.group_in_words("age_group", "3") == "age group 3"
