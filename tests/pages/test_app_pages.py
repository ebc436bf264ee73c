"""Overview, Class curves, Method: on an empty, a tiny, made-up and the shipped study; their words and tables."""

import ast
import re
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pandas as pd
import pytest

from engine.analysis.columns import MODEL
from engine.analysis.curves.class_curves import class_curves, total_curves
from engine.analysis.curves.controls import Against
from engine.analysis.curves.first_to_fall import fallen_for_good, first_falls
from engine.analysis.curves.red_flags import headline, red_flags
from engine.analysis.member_counts import member_counts
from engine.analysis.unfairness import UNFAIRNESS
from engine.datasets import attributes
from engine.datasets.dataset_table import DATASETS
from engine.pruning.techniques import CONTROL
from engine.run_spec import RunSpec
from engine.specs.preset import load_preset
from engine.store import catalog
from engine.store.study import Study
from pages.shared import formats, protocol
from pages.shared import training_note as gains
from pages.shared.cache import catalog as load
from pages.shared.cache import points as load_points
from pages.shared.cache.between import Between
from pages.shared.cache.catalog import Experiment, Source
from pages.shared.menu import MENU, Entry
from pages.shared.names import variant_name
from pages.views.method import words as method
from pages.views.overview import words as flags
from tests.pages.conftest import NASTY, TOP, OpenPage, unfold, words
from tests.support.studies import make_study

PAGES = ("app.py", "pages/class_curves.py", "pages/method.py")
NAMES = {number: str(number) for number in range(10)}


# -- every page -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", MENU, ids=lambda entry: entry.label)
def test_page_opens_with_its_question_and_the_frame(entry: Entry) -> None:
    tree = ast.parse((TOP / entry.file).read_text(encoding="utf-8"))
    assert ast.get_docstring(tree) == entry.question
    calls = [node.value for node in tree.body if isinstance(node, ast.Assign | ast.Expr)]
    first = next(call for call in calls if isinstance(call, ast.Call))
    assert (
        ast.unparse(first.func) in ("open_page", "open_with_study", "open_without_study")
        and ast.literal_eval(first.args[0]) == entry.file
    )


@pytest.mark.parametrize("file", PAGES)
def test_page_shows_the_shipped_study(open_page: OpenPage, demo_root: Path, file: str) -> None:
    app = open_page(file, "demo", demo_root)
    assert not app.error and "Global magnitude" in words(app) + "".join(str(t.value) for t in app.table)


@pytest.mark.parametrize("file", PAGES)
def test_names_from_files_are_plain_text(open_page: OpenPage, file: str) -> None:
    app = open_page(file, "nasty")
    said = words(app) + "".join(str(cell) for table in app.table for cell in table.value.to_numpy().ravel())
    assert formats.plain(NASTY) in said and NASTY not in said
    for chart in app.main.get("plotly_chart"):
        assert "<img" not in chart.proto.spec and "&lt;img" in chart.proto.spec


def test_a_study_whose_runs_are_all_broken_says_why(open_page: OpenPage, study_root: Path, tmp_path: Path) -> None:
    study = Study(copytree(study_root / "tiny", tmp_path / "broken"))
    (study.path / "runs" / study.runs()[0] / "levels.parquet").write_bytes(b"nothing")
    (study.path / "catalog" / "index.json").unlink(missing_ok=True)
    said = words(open_page("app.py", "broken", tmp_path))
    assert "None of the 1 runs of this study can be read" in said and "damaged" in said


def test_filters_that_no_run_meets_say_so(open_page: OpenPage, study_root: Path, tmp_path: Path) -> None:
    study = Study(copytree(study_root / "missing-class", tmp_path / "apart"))
    make_study(study.path, techniques=("l1_structured",), treatments=("finetune",), seeds=1, without_examples=(3,))
    address = {"techniques": "Channels by L1", "treatments": "Restart"}
    assert "No run has these techniques" in words(open_page("pages/class_curves.py", "apart", tmp_path, **address))


# -- Overview ---------------------------------------------------------------------------------------------------------


def planted_flags(study_root: Path, name: str = "planted") -> pd.DataFrame:
    """Red flags of a study with groups, every level of every run decoded."""
    study = Study(study_root / name)
    table = study.examples("qmnist-writers")
    labels, counts = table["label"].to_numpy(), []
    for run in study.runs():
        levels, said = study.prediction_matrix(run)
        models = pd.DataFrame({"run": run, "level": levels})
        counts.append(member_counts(table, models, said == labels, ["series"]))
    return red_flags(study.levels(), study.classes(), pd.concat(counts, ignore_index=True))


def source_and_experiment(study_root: Path, name: str) -> tuple[Source, Experiment]:
    source = Source(str(study_root / name), 1)
    return source, load.experiments(source)[0]


def test_flags_read_from_two_levels_are_those_of_all(study_root: Path) -> None:
    found = load.flags(*source_and_experiment(study_root, "planted"))
    expected = planted_flags(study_root)
    assert found.no_groups == "" and expected["group_change"].notna().any()
    pd.testing.assert_frame_equal(
        found.table.astype(dict.fromkeys(MODEL, str)), expected.astype(dict.fromkeys(MODEL, str)), check_like=True
    )


def test_study_without_groups_says_why(study_root: Path) -> None:
    assert load.flags(*source_and_experiment(study_root, "tiny")).no_groups == load.NO_GROUPS


def test_damaged_predictions_leave_the_classes(tmp_path: Path, study_root: Path) -> None:
    study = Study(copytree(study_root / "planted", tmp_path / "damaged"))
    (study.path / "runs" / study.runs()[0] / "predictions.parquet").write_bytes(b"nothing")
    found = load.flags(*source_and_experiment(tmp_path, "damaged"))
    assert "damaged" in found.no_groups and found.table["class_change"].notna().any()


def test_headline_names_the_sparsest_network_and_who_loses(open_page: OpenPage, study_root: Path) -> None:
    rows = planted_flags(study_root)
    flag = rows.loc[rows["sparsity"].idxmax()]
    said = words(open_page("app.py", "planted"))
    assert f"LeNet on QMNIST can lose {formats.sparsity(flag['sparsity'])} of its weights within 1 point" in said
    for kind, name in (("class", f"class {flag['class']}"), ("group", f"series {flag['group']}")):
        sure = flag[f"{kind}_high"] < 0 and flag[f"{kind}_change"] <= -flags.LITTLE
        assert (f"{name} loses {-100 * flag[f'{kind}_change']:.1f} points" in said) == sure
    most = headline(rows)
    assert most.change is not None and most.high is not None
    assert (f"{-100 * most.change:.1f} points ({-100 * most.high:.1f} to" in said) == (most.high < 0)
    assert most.high < 0 or "can be told from chance" in said


def test_red_flags_have_a_row_for_each_network_that_keeps_its_accuracy(open_page: OpenPage, study_root: Path) -> None:
    rows = planted_flags(study_root)
    app = open_page("app.py", "planted")
    kept = rows.dropna(subset="level")
    kept = kept.assign(end=kept[["class_high", "group_high"]].min(axis=1)).sort_values("end", kind="stable")
    told = kept[kept["end"] < 0]
    folded = told[: flags.MOST_FLAGS], told[flags.MOST_FLAGS :], kept[kept["end"] >= 0]
    parts = [part for part in folded if len(part)]
    for table, part in zip(app.table, parts, strict=False):
        assert list(table.value["Technique"]) == [formats.plain(variant_name(flag)) for _, flag in part.iterrows()]
        assert list(table.value["Sparsest within 1 pt"]) == [formats.sparsity(value) for value in part["sparsity"]]
    chance = int((kept["end"] >= 0).sum())
    assert any(f"Not told from chance: {chance} row" in box.label for box in app.expander) == bool(chance)
    assert [metric.value for metric in app.metric] == ["12", "84", "3", "1"]


def test_frontier_link_carries_the_frame(open_page: OpenPage) -> None:
    app = open_page("app.py", "planted", techniques="Global magnitude")
    links = [link.proto for link in app.main.get("page_link")]
    assert [link.page for link in links][:2] == ["writers", "frontier"] and len(links) == 3
    assert all("study=planted" in link.query_string and "Global" in link.query_string for link in links)


def test_one_seed_has_no_interval(open_page: OpenPage) -> None:
    said = words(open_page("app.py", "missing-class"))
    assert "one training run only, which gives no interval" in said and "(one training run)" in said


def test_overview_without_dense_says_what_is_missing(open_page: OpenPage) -> None:
    said = words(open_page("app.py", "no-dense"))
    assert "cannot be said" in said and "the dense level is missing" in said


def flag(**values: object) -> pd.DataFrame:
    """One row of red flags, made by hand."""
    usual = dict.fromkeys(MODEL, "none") | {"technique": "l1_structured", "treatment": "rewind", "reason": ""}
    kept = {"level": 3, "sparsity": 0.5, "accuracy": 0.9, "dense_accuracy": 0.9, "n_seeds": 2, "controlled": False}
    loss = {"n": 10, "change": -0.03, "low": -0.04, "high": -0.02, "gap_dense": 0.1, "gap": 0.2, "gap_times": 2.0}
    sides = {f"{side}_{name}": value for side in ("class", "group") for name, value in loss.items()}
    return pd.DataFrame([usual | kept | sides | {"class": 8, "grouping": "series", "group": "hsf4"} | values])


EXPERIMENT = Experiment("qmnist", "writers", "lenet", "iterative", "20 levels")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, "but class 8 loses 3.0 points (2.0 to 4.0) and students (hsf4) lose 3.0 points (2.0 to 4.0)."),
        ({"group_change": 0.01}, "but class 8 loses 3.0 points (2.0 to 4.0)."),
        ({"class_high": 0.1}, "but students (hsf4) lose 3.0 points (2.0 to 4.0)."),
        ({"class_high": 0.1, "group_high": 0.0}, "and no loss of a class or group can be told from chance."),
        ({"class_low": np.nan, "class_high": np.nan}, "but class 8 loses 3.0 points (one training run) and students"),
        ({"class_change": 0.0, "group_change": np.nan}, "and no class loses any."),
        ({"class_change": -0.004, "group_change": -0.002}, "and no class or group loses more than 0.4 points."),
    ],
)
def test_headline_sentence(values: dict[str, object], expected: str) -> None:
    said = formats.unmarked(flags.headline_sentence(flag(**values), EXPERIMENT, NAMES))
    assert said.startswith("LeNet on QMNIST can lose 50.0 % of its weights within 1 point of accuracy, ")
    assert expected in said


def test_headline_adds_the_largest_loss_of_another_network() -> None:
    sure = {"class_change": -0.2, "class_low": -0.25, "class_high": -0.15}
    rows = pd.concat([flag(), flag(technique="l2_structured", sparsity=0.2, **sure)], ignore_index=True)
    said = flags.headline_sentence(rows, EXPERIMENT, NAMES)
    assert "Under Channels by L2 with restarts, class 8 loses 20.0 points (15.0 to 25.0) at 20.0 % sparsity" in said
    assert "L2" not in flags.headline_sentence(rows.iloc[:1], EXPERIMENT, NAMES)
    by_chance = rows.assign(class_high=[-0.02, 0.1])
    assert "L2" not in flags.headline_sentence(by_chance, EXPERIMENT, NAMES), "another loss is more than chance"
    all_by_chance = rows.assign(class_high=0.1, group_high=0.1)
    assert "20.0 points" not in flags.headline_sentence(all_by_chance, EXPERIMENT, NAMES)


def test_a_gain_of_accuracy_is_explained() -> None:
    assert "gains 10.0 points: the dense network was not" in gains.gain_sentence(0.1, 3, 3)
    assert "gains 1.0 points on the dense network, but trained for 12 epochs" in gains.gain_sentence(0.01, 3, 12)
    assert not gains.gain_sentence(0.01, 3, 3) and not gains.gain_sentence(0.004, 3, 12)


def test_a_control_tells_training_from_pruning(tmp_path: Path, open_page: OpenPage) -> None:
    plan = {"treatments": ("rewind", "finetune"), "levels": 5}
    study = make_study(tmp_path / "own", techniques=("global_unstructured",), **plan)
    without = words(open_page("app.py", "own", tmp_path))
    make_study(tmp_path / "own", techniques=(CONTROL,), treatments=("finetune",), levels=5, random=0)
    app = open_page("app.py", "own", tmp_path)
    assert "Trained as long without pruning" not in without
    assert not app.exception and "No pruning" not in app.multiselect(key="techniques").options
    source = load.source("own")
    experiment = load.experiments(source)[0]
    found = load.flags(source, experiment).table
    tuned = found[found["treatment"] == "finetune"].iloc[0]
    variant = (str(tuned["technique"]), "finetune", "none")
    said = gains.training_sentence(source, experiment, variant, int(tuned["level"]), 0.0)
    levels = catalog.refresh(study).control_levels
    control = levels[levels["level"] == tuned["level"]]["accuracy"].mean()
    assert f"({1 + tuned['level']} epochs, 3 training runs): accuracy {formats.percent(control)}, unfairness" in said
    assert f"pruning changes accuracy by {formats.points(tuned['accuracy'] - control)} ±" in said
    assert not gains.training_sentence(source, experiment, (variant[0], "rewind", "none"), int(tuned["level"]), 0.0)
    app.pills(key="treatments").set_value(["Keep training"]).run()
    assert f"against {formats.percent(control)} of the same training without pruning (average of" in words(app)
    assert "Networks that kept training are compared with one that trained as long" in words(app)
    points = load.operating(source, experiment)
    point = points[(points["treatment"] == "finetune") & (points["level"] == tuned["level"])]["point"].iloc[0]
    rows = load_points.group_rows(Between(source, experiment), int(point))
    counts = catalog.refresh(study).control_classes
    counts = counts[counts["level"] == tuned["level"]].assign(share=counts["correct"] / counts["n"])
    expected = counts.groupby("class")["share"].mean().rename(load.class_names(source, experiment).get)
    pd.testing.assert_series_equal(rows.set_index("name")["control"].sort_index(), expected, check_names=False)
    assert np.allclose(rows["change"], rows["accuracy"] - rows["control"])
    frontier = open_page("pages/frontier.py", "own", tmp_path, treatments=["Keep training"], weight="0.01")
    assert "Trained as long without pruning (" in words(frontier)


def test_a_control_sentence_has_the_measures_unit() -> None:
    against = Against(0.9, 0.95, -0.05, -0.07, -0.03, 3)
    alpha = Against(0.8, 0.5, 0.3, np.nan, np.nan, 3)
    said = gains.control_sentence({"accuracy": against, "intensification": alpha}, 15, "intensification")
    assert (
        "accuracy 95.0 %, alpha 0.5. Against that, pruning changes accuracy by -5.0 pt ± 2.0 and alpha by +0.3." in said
    )
    assert "unfairness" not in gains.control_sentence({"accuracy": against}, 15, "max_min")


@pytest.mark.parametrize(
    ("settings", "technique", "treatment", "level", "epochs"),
    [
        ({"epochs": 3}, "l1_structured", "finetune", 0, 3),
        ({"epochs": 3}, "l1_structured", "finetune", 20, 63),
        ({"epochs": 3}, "l1_structured", "rewind", 20, 3),
        ({"epochs": 3, "epochs_after": 2}, "l1_structured", "rewind", 20, 2),
        ({"schedule": "oneshot", "epochs": 10, "epochs_after": 5}, "l1_structured", "finetune", 4, 15),
        ({"schedule": "oneshot", "epochs": 10, "epochs_after": 5}, "int8_static", "finetune", 1, 10),
        ({"schedule": "imported", "epochs": 0}, "theirs", "finetune", 2, 0),
    ],
)
def test_epochs_behind_a_network(
    settings: dict[str, Any], technique: str, treatment: str, level: int, epochs: int
) -> None:
    spec = RunSpec("qmnist", "lenet", "l1_structured", "rewind", 0, **settings)
    assert gains.epochs_in_all(spec, technique, treatment, level) == epochs


def test_heat_and_order_follow_the_loss_that_is_at_least_there() -> None:
    noise = flag(class_change=-0.2, class_high=0.1, group_high=0.05)
    rows = [flag(), flag(class_change=-0.06, class_high=-0.04), flag(class_change=0.01, class_high=0.02), noise]
    told, not_told = flags.told_and_not(pd.concat(rows, ignore_index=True))
    assert told.index.tolist() == [1, 0, 2] and not_told.index.tolist() == [3]
    assert flags.told_and_not(flag(class_high=np.nan, group_high=np.nan))[1].empty, "one seed tells nothing"
    cells = list(flags.flag_table(told, NAMES)["Worst class"])
    assert "background" not in flags.flag_table(not_told, NAMES)["Worst class"].iloc[0]
    assert "0.50" in cells[0] and "0.25" in cells[1] and "background" not in cells[2]
    assert "-6.0 pt" in cells[0] and "+1.0 pt" in cells[2]


# -- Class curves -----------------------------------------------------------------------------------------------------


def test_sentence_names_the_class_that_falls_first(open_page: OpenPage, study_root: Path) -> None:
    study = Study(study_root / "planted")
    curves = class_curves(study.classes())
    mine = curves[(curves["technique"] == "random_unstructured") & (curves["treatment"] == "finetune")]
    fallen = fallen_for_good(mine)
    first = fallen.sort_values(["sparsity", "accuracy"]).iloc[0]
    first_level = fallen[fallen["sparsity"] == first["sparsity"]]
    most = first_level.loc[(first_level["dense_accuracy"] - first_level["accuracy"]).idxmax()]
    said = words(open_page("pages/class_curves.py", "planted", technique="Layer random", treatment="Keep training"))
    lost = formats.points_in_words(most["accuracy"] - most["dense_accuracy"])
    at = formats.sparsity(most["sparsity"])
    assert f"Class {most['class']} falls first: it loses {lost} at {at} sparsity" in said
    total = total_curves(study.levels())
    total = total[(total["technique"] == "random_unstructured") & (total["treatment"] == "finetune")]
    change = total.set_index("level").loc[most["level"], "accuracy"] - total["dense_accuracy"].iloc[0]
    assert f"the total loses {-100 * change:.1f} points" in said
    rows = study.classes()
    shares = first_falls(rows[(rows["technique"] == "random_unstructured") & (rows["treatment"] == "finetune")])
    assert f"How sure: {100 * shares.get(most['class'], 0):.0f} % of 500 re-draws of the runs name it first" in said


def test_a_class_without_examples_has_no_curve(open_page: OpenPage) -> None:
    said = words(open_page("pages/class_curves.py", "missing-class"))
    assert "No test examples, so no curve: class 3." in said and "One training run gives no interval" in said


def test_curves_without_dense_say_so(open_page: OpenPage) -> None:
    said = words(open_page("pages/class_curves.py", "no-dense"))
    assert "no class has a dense level to compare with" in said


def test_controls_of_the_curves_follow_the_address(open_page: OpenPage) -> None:
    address = {"technique": "Layer random", "spotlight": "4", "axis": "sparsity", "seeds": "each seed"}
    app = open_page("pages/class_curves.py", "planted", **address, measure="Intensification")
    assert app.selectbox(key="technique").value == "Layer random" and app.selectbox(key="spotlight").value == "4"
    assert app.selectbox(key="measure").value == "Intensification"
    assert "By how much pruning stretches" in words(app)
    assert len(app.main.get("plotly_chart")) == 5


def test_mitigations_are_never_averaged(open_page: OpenPage, study_root: Path) -> None:
    app = open_page("pages/class_curves.py", "mitigated", mitigation="before")
    assert app.selectbox(key="mitigation").value == "Before pruning" and "mitigated before pruning" in words(app)
    assert open_page("app.py", "mitigated").metric[0].value == "6"


def test_nonsense_in_the_address_of_the_curves_is_left_out(open_page: OpenPage) -> None:
    keys = ("technique", "treatment", "spotlight", "axis", "seeds", "measure", "study", "techniques")
    app = open_page("pages/class_curves.py", "planted", **dict.fromkeys(keys[:6], "<b>"))
    assert app.selectbox(key="technique").value == "Global magnitude" and not app.error


@pytest.mark.parametrize("measure", list(UNFAIRNESS))
def test_every_measure_has_a_curve_or_a_reason(open_page: OpenPage, measure: str) -> None:
    app = open_page("pages/class_curves.py", "no-dense", measure=UNFAIRNESS[measure].label)
    needs_dense = UNFAIRNESS[measure].needs_dense
    assert ("cannot be computed" in words(app)) == bool(needs_dense)


def test_charts_turn_into_tables(open_page: OpenPage) -> None:
    app = open_page("pages/class_curves.py", "planted")
    unfold(app, "class-curves-menu").toggle(key="class-curves-table").set_value(True).run()
    assert not app.exception and set(app.dataframe[0].value) >= {"class", "name", "level", "accuracy", "low", "n"}


# -- Method -----------------------------------------------------------------------------------------------------------


def test_method_tells_every_measure_and_attribute(open_page: OpenPage) -> None:
    app = open_page("pages/method.py", "planted")
    table = next(table.value for table in app.table if "Formula" in table.value)
    assert list(table["Formula"]) == [f"`{row.formula}`" for row in UNFAIRNESS.values()]
    assert list(table["Source"]) == [formats.plain(row.source) for row in UNFAIRNESS.values()]
    said = words(app)
    assert (
        all(text in said for text in method.ATTRIBUTES.values()) and tuple(method.ATTRIBUTES) == attributes.ATTRIBUTES
    )


def test_method_explains_every_split() -> None:
    assert {split for row in DATASETS.values() for split in row.splits} == set(method.SPLITS)


def test_method_says_that_the_choice_is_made_on_what_it_reports(open_page: OpenPage) -> None:
    text = words(open_page("pages/method.py", "planted"))
    assert "chooses on validation and reports the test split" in text
    assert "there the Frontier chooses on the test numbers that it reports" in text and "picks nothing" not in text
    sentences = re.split(r"(?<=[.:]) ", f"{method.TEST_SPLIT} {' '.join(method.GRADIENTS)}")
    assert max(len(sentence.split()) for sentence in sentences) <= 30


def test_method_gives_both_readings_of_gradient_techniques_where_they_ran(tmp_path: Path) -> None:
    few = {"examples": 50, "writers": 0, "split": "", "seeds": 1, "levels": 1, "treatments": ("rewind",)}
    for technique, readings in (("gradient", method.GRADIENTS), ("l1_structured", ())):
        make_study(tmp_path / technique, **few, techniques=(technique,))
        recorded = load.load_catalog(Source(str(tmp_path / technique), 0))
        assert method.gradient_sentences(recorded) == readings


def test_method_counts_what_was_recorded(open_page: OpenPage) -> None:
    assert f"{84 * 1200:,} recorded predictions: what each of 84 models" in words(
        open_page("pages/method.py", "planted")
    )


@pytest.mark.parametrize(
    ("epochs", "n_seeds", "expected"),
    [
        (
            3,
            2,
            "3 epochs (there 30), no random crop (there 4 pixels), no random mirror (there yes), "
            "2 training runs so far",
        ),
        (30, 6, "As in Paganini 2020"),
    ],
)
def test_what_was_shortened_follows_from_the_settings(epochs: int, n_seeds: int, expected: str) -> None:
    spec = load_preset("paper-qmnist").specs[0]
    spec = replace(spec, epochs=epochs, crop=4 * (epochs == 30), flip=epochs == 30)
    assert expected in protocol.difference_sentence(spec, n_seeds).replace("\\", "")


def test_the_experiment_of_most_models_comes_first_not_that_of_most_runs(tmp_path: Path) -> None:
    few = {"examples": 50, "writers": 0, "split": "", "techniques": ("gradient",), "treatments": ("rewind",)}
    make_study(tmp_path / "demo", **few, dataset="short", seeds=3, levels=1)
    make_study(tmp_path / "demo", **few, dataset="long", seeds=1, levels=8)
    found = load.experiments(load.Source(str(tmp_path / "demo"), 0))
    assert [one.dataset for one in found] == ["long", "short"]


@pytest.mark.parametrize(
    ("preset", "paper", "n_seeds"),
    [("paper-qmnist", "Paganini 2020", 6), ("recall-distortion", "Good 2022", 30), ("hooker", "Hooker 2020", 30)],
)
def test_runs_of_a_paper_s_preset_are_as_in_the_paper_but_for_their_seeds(
    preset: str, paper: str, n_seeds: int
) -> None:
    for spec in load_preset(preset).specs:
        assert protocol.difference_sentence(spec, n_seeds).replace("\\", "") == f"As in {paper}."
        assert f"4 training runs so far (there {n_seeds})" in protocol.difference_sentence(spec, 4).replace("\\", "")


def test_unequal_seeds_are_told_as_a_range() -> None:
    spec = load_preset("paper-qmnist").specs[0]
    assert "3 to 5 training runs so far (there 6)" in protocol.difference_sentence(spec, 3, 5).replace("\\", "")


def test_the_demo_preset_is_compared_with_its_papers() -> None:
    said = {protocol.difference_sentence(replace(spec, seed=0), 6) for spec in load_preset("demo").specs}
    plain = " ".join(said).replace("\\", "")
    assert "Paganini 2020" in plain and "Good 2022" in plain and "10 epochs (there 30)" in plain


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ({"schedule": "iterative"}, "loses 20 % of what remains and trains for 30 epochs again, 20 times over"),
        ({"schedule": "oneshot", "sparsities": (0.5, 0.9)}, "is cut at once to 50 %, 90 %"),
        ({"schedule": "gradual", "sparsities": (0.9,)}, "from step 1,000 to 9,000 to 90 %"),
    ],
)
def test_protocol_is_told_in_sentences(schedule: dict[str, object], expected: str) -> None:
    spec = replace(load_preset("paper-qmnist").specs[0], **schedule)  # type: ignore[arg-type]
    said = protocol.protocol_sentences(spec)
    assert expected in said and "shifted by up to 4 pixels and mirrored at random" in said


def test_predictions_from_elsewhere_claim_no_protocol() -> None:
    spec = replace(load_preset("paper-qmnist").specs[0], schedule="imported", epochs=0)
    assert "made elsewhere" in protocol.protocol_sentences(spec)
    assert "no protocol to compare" in protocol.difference_sentence(spec, 1)
