"""Causes and Mitigation: on studies with and without such runs; the Frontier marks mitigated points."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from engine.analysis.causes.relations import RELATIONS, BoundFacts, Correlation
from engine.fairness.diagnostics import NO_MEMBER
from engine.run_spec import RunSpec
from engine.runs.run import run_experiment
from engine.specs.mitigation import MITIGATIONS
from engine.store.study import Study
from pages.shared.charts.style import REST, SPOTLIGHT, WORST
from pages.views.causes import charts as cause_charts
from pages.views.causes import words as causes
from pages.views.causes.labels import label_sides
from pages.views.mitigation import words as arms
from pages.views.mitigation.charts import change_chart
from tests.pages.conftest import OpenPage, unfold, words
from tests.support.studies import make_study

PAGES = ("pages/causes.py", "pages/mitigation.py")
SPEC = RunSpec("qmnist", "lenet", "global_unstructured", levels=1, epochs=2, learning_rate=0.05)


@pytest.fixture(scope="module")
def arms_root(tiny_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of real runs on a few images: two arms, two seeds, classes and writers diagnosed."""
    root = tmp_path_factory.mktemp("arms-root")
    for arm in ("none", "after"):
        for seed in (0, 1):
            spec = replace(SPEC, mitigation=arm, seed=seed, diagnose=("class", "writer"))
            run_experiment(spec, Study(root / "arms"), tiny_root, "cpu")
    return root


@pytest.mark.parametrize("file", PAGES)
@pytest.mark.parametrize("study", ["empty", "tiny", "planted", "no-dense", "nasty"])
def test_page_without_such_runs_says_so_and_shows_a_way(open_page: OpenPage, file: str, study: str) -> None:
    app = open_page(file, study)
    assert not app.main.get("plotly_chart") and not app.error
    assert ("no finished run" if study == "empty" else "--") in words(app)


def test_causes_page_shows_groups_relations_and_bound(open_page: OpenPage, arms_root: Path) -> None:
    app = open_page("pages/causes.py", "arms", arms_root)
    assert len(app.main.get("plotly_chart")) == len(RELATIONS) + 2
    said = words(app)
    assert "loses most" in said or "No group" in said
    assert "The bound of Theorem 1" in said and all(one.claim[1:] in said for one in RELATIONS)


def test_causes_page_shows_the_bound_right_after_the_cut_and_after_retraining(
    open_page: OpenPage, arms_root: Path
) -> None:
    app = open_page("pages/causes.py", "arms", arms_root)
    assert app.segmented_control(key="moment").value == causes.AT_CUT
    unfold(app, "bound-menu").toggle(key="bound-table").set_value(True).run()
    study = Study(arms_root / "arms")
    rows = pd.concat([study.run_table(run, "groups") for run in study.runs()])
    for moment, prefix in ((causes.AT_CUT, "cut_"), (causes.TRAINED, "")):
        app.segmented_control(key="moment").set_value(moment).run()
        shown = next(table.value for table in app.dataframe if "weight_change" in table.value)
        assert "The bound of Theorem 1" in words(app)
        assert set(shown["weight_change"]) <= set(rows[f"{prefix}weight_change"])
        assert set(shown["excessive_loss"].dropna()) <= set(rows[f"{prefix}excessive_loss"])


def test_causes_page_names_the_groups_that_it_skips(open_page: OpenPage, arms_root: Path) -> None:
    app = open_page("pages/causes.py", "arms", arms_root, grouping="Writer")
    table = app.main.dataframe[-1].value
    assert (table["reason"] == NO_MEMBER).any() and len(app.main.get("plotly_chart")) == len(RELATIONS) + 2


@pytest.mark.parametrize("measure", list(arms.LABELS.values()))
def test_mitigation_page_compares_the_arms(open_page: OpenPage, arms_root: Path, measure: str) -> None:
    app = open_page("pages/mitigation.py", "arms", arms_root, measure=measure)
    assert len(app.main.get("plotly_chart")) == 4
    table = app.main.dataframe[0].value
    assert list(table["method"]) == [MITIGATIONS[arm].label for arm in ("none", "after")]
    assert "no mitigation" in words(app) and "picked after looking" in words(app)


def test_frontier_outlines_mitigated_points(open_page: OpenPage, arms_root: Path) -> None:
    app = open_page("pages/frontier.py", "arms", arms_root, threshold="0")
    assert "mitigated after pruning" in app.main.get("plotly_chart")[0].proto.spec


def test_a_clear_arm_is_named_with_its_price() -> None:
    curves = pd.DataFrame({"mitigation": ["none", "after"], "gap": [0.2, 0.1]})
    change = {"mitigation": ["after"], "sparsity": [0.9], "n_seeds": [5]}
    clear = {"gap": [-0.1], "gap_low": [-0.12], "gap_high": [-0.08]}
    price = {"accuracy": [-0.02], "accuracy_low": [-0.03], "accuracy_high": [-0.01]}
    said = arms.arm_sentence(curves, pd.DataFrame({**change, **clear, **price}), "gap", "class")
    assert "**After pruning: the gap in accuracy between classes falls by 10.0 points (95 %: -12.0 to -8.0)**" in said
    assert "and accuracy falls by 2.0 points (95 %: -3.0 to -1.0), average of 5 training runs." in said
    worse = {"gap": [0.1], "gap_low": [0.08], "gap_high": [0.12]}
    said = arms.arm_sentence(curves, pd.DataFrame({**change, **worse, **price}), "gap", "class")
    assert "No method narrows" in said and "after pruning: it rises by 10.0 points" in said
    vague = {"gap": [-0.1], "gap_low": [-0.3], "gap_high": [0.1]}
    said = arms.arm_sentence(curves, pd.DataFrame({**change, **vague, **price}), "gap", "class")
    assert "No method clearly narrows" in said and "falls by 10.0 points (95 %: -30.0 to +10.0)" in said


@pytest.mark.parametrize("dark", [True, False])
def test_a_change_beyond_chance_has_a_colour(dark: bool) -> None:
    ends = {"gap": [-0.1, 0.1, 0.0], "gap_low": [-0.2, 0.05, -0.1], "gap_high": [-0.05, 0.2, 0.1]}
    rows = pd.DataFrame({"mitigation": ["before", "after", "both"], "n_seeds": 3, **ends})
    [dots] = change_chart(rows, "gap", dark).data
    shown = dict(zip(dots.y, dots.marker.color, strict=True))
    assert shown == {
        "Before pruning": SPOTLIGHT[dark],
        "After pruning": WORST[dark],
        "Before and after pruning": REST[dark],
    }
    named = {column.replace("gap", "accuracy"): values for column, values in ends.items()}
    [dots] = change_chart(rows.assign(**named), "accuracy", dark).data
    assert dict(zip(dots.y, dots.marker.color, strict=True))["Before pruning"] == WORST[dark]


def test_headings_count_the_methods_that_chance_does_not_explain() -> None:
    rows = pd.DataFrame({"gap_low": [-0.2, 0.1, -0.1], "gap_high": [-0.1, 0.2, 0.1], "accuracy_high": [0.1, 0.1, 0.1]})
    assert arms.gap_heading(rows, "gap") == "1 of 3 methods clearly narrows the gap, 1 widens it"
    assert arms.accuracy_heading(rows) == "None of 3 methods clearly costs accuracy"
    assert arms.gap_heading(rows[2:], "gap") == "The method does not clearly narrow the gap"


def test_arm_names_say_what_is_not_usual() -> None:
    assert arms.arm_name("after, drop") == "After pruning, bounded drops" and arms.arm_name("none") == "No mitigation"
    words = "both, reweight, by series, eta 0.2"
    assert arms.arm_name(words) == "Before and after pruning, reweighted groups, by series, step 0.2"
    assert arms.arm_name("before, worst") == "Before pruning, worst group first"


def test_negative_weights_are_warned_of_by_training() -> None:
    rows = pd.DataFrame({"run": list("aabb"), "level": 1, "group": ["x", "y"] * 2, "weight": [0.6, 0.4, 1.1, -0.1]})
    assert arms.negative_weight_sentence(rows).startswith("**In 1 of 2 trainings with this method the multipliers made")
    assert "(y)" in arms.negative_weight_sentence(rows)
    assert arms.negative_weight_sentence(rows.assign(weight=0.5)) == ""
    assert arms.negative_weight_sentence(rows.drop(columns="weight")) == ""
    assert arms.ordered_arms(["both", "after, drop", "none", "after"]) == ["none", "after", "after, drop", "both"]


def test_relations_are_judged_by_their_intervals() -> None:
    minus = next(relation for relation in RELATIONS if relation.sign < 0)
    found = [Correlation(minus, *values, n_groups=10, n_seeds=5) for values in ((-0.8, -0.9, -0.7), (0.5, 0.2, 0.8))]
    found.append(Correlation(minus, -0.1, -0.5, 0.3, 10, 5))
    assert list(causes.relation_table(found)["here"]) == ["shows here", "the other way here", "not clear here"]
    assert "1 of the 3 patterns in Tran et al. 2022 appears here" in causes.relation_sentence(found, [1, 5])
    assert "hardly differ" in causes.relation_sentence(found, [10, 10])


def loss_curves(n: int) -> pd.DataFrame:
    """Curves of so many classes, of which class 1 loses most."""
    rows = [
        {"group": str(group), "grouping": "class", "level": level, "sparsity": 0.5 * level, "n_seeds": 3, "n": 9}
        | {"accuracy": 0.9, "margin": 0.1, "loss": 0.1, "eigenvalue": 1.0 + group, "gradient_norm": 1.0}
        | {"excessive_loss": float(level * (group == 1))}
        for group in range(n)
        for level in (0, 1)
    ]
    table = pd.DataFrame(rows)
    ends = {f"{name}_{end}": table[name] for name in ("gradient_norm", "eigenvalue") for end in ("low", "high")}
    return table.assign(**ends)


@pytest.mark.parametrize("dark", [True, False])
@pytest.mark.parametrize("n", [4, 10, 30])
def test_of_many_groups_only_the_one_that_loses_most_has_a_colour(n: int, dark: bool) -> None:
    curves = loss_curves(n)
    assert causes.worst_group(curves, 1) == "1" and causes.worst_group(curves, 0) is None
    colours = cause_charts.shades(curves, "1", dark)
    figure = cause_charts.curves_chart(curves, "eigenvalue", colours, "kept", dark)
    assert list(colours)[-1] == "1" and (len(set(colours.values())) == 2) == (n > 4)
    names = [note.text for note in figure.layout.annotations]
    assert len(names) == {4: 0, 10: 10, 30: 1}[n] and (n == 4 or "1" in names)
    assert (figure.layout.showlegend is False) == (n > 4)


def test_names_of_points_lie_on_no_other_name_and_on_no_point() -> None:
    assert label_sides([0, 1, 2], [0, 2, 1], "abc") == ["top center"] * 3
    assert label_sides([0, 1, 1], [0, 1, 1], ["a", "one", "same"]) == ["top center", "top center", "bottom center"]
    many = label_sides([0, 1] + [0.5] * 12, [0, 1] + [0.5] * 12, ["name"] * 14)
    assert None in many and len({side for side in many[2:] if side}) == len([side for side in many[2:] if side])


def test_bound_sentence() -> None:
    assert causes.bound_sentence(BoundFacts(8, 0.5, 3.0)) == (
        "The bound of Theorem 1 holds in 50.0 % of cases: the median bound is 3 times the truth."
    )
    assert "always holds, and says little" in causes.bound_sentence(BoundFacts(8, 1.0, 300.0))
    assert causes.bound_sentence(BoundFacts(0, float("nan"), float("nan"))) == "No pruned group was measured."


def test_who_has_not_chosen_starts_where_runs_were_mitigated(tmp_path: Path, open_page: OpenPage) -> None:
    settings = {"techniques": ("global_unstructured",), "treatments": ("finetune",), "seeds": 1, "examples": 240}
    for mitigation, levels in (("none", 3), ("none", 4), ("after", 4)):
        make_study(tmp_path / "two", mitigation=mitigation, levels=levels, **settings)
    fresh = open_page("pages/mitigation.py", "two", root=tmp_path)
    assert "4 cuts" in str(fresh.selectbox(key="protocol").value) and "No run here" not in words(fresh)
    there = next(name for name in fresh.selectbox(key="protocol").options if "3 cuts" in name)
    other = open_page("pages/mitigation.py", "two", root=tmp_path, protocol=there)
    assert "**No run here was trained against gaps.** These have some:" in words(other)
    assert "4 cuts" in str([link.proto.label for link in other.main.get("page_link")])
    causes = open_page("pages/causes.py", "two", root=tmp_path)
    assert "--diagnose class" in words(causes), "no experiment has any: the way on is a command"
