"""The rows of a regression: each run's own start, facts of classes, order, quartiles, and what is left out."""

import numpy as np
import pandas as pd
import pytest

from engine.analysis.regression.population import NO_DENSE, NO_EXAMPLE, Population, population, quartile
from engine.analysis.regression.population_regression import regression
from engine.errors import PruneScopeError
from engine.store.study import Study, examples_name


def gathered(study: Study, **how: bool) -> Population:
    return population(study.classes(), lambda run: study.class_facts(examples_name(study.run_record(run).spec)), **how)


def test_population_has_each_runs_own_start_and_its_classes_facts(study: Study) -> None:
    table, classes = gathered(study).table, study.classes()
    assert (table["level"] > 0).all() and len(gathered(study, with_dense=True).table) > len(table)
    row = table.iloc[137]
    same = classes[(classes["run"] == row["run"]) & (classes["class"] == row["class"])].set_index("level")
    assert row["accuracy"] == same.loc[row["level"], "correct"] / same.loc[row["level"], "n"]
    assert row["accuracy0"] == same.loc[0, "correct"] / same.loc[0, "n"]
    facts = study.class_facts(f"{row['dataset']}-{row['split']}").set_index("class")
    share = facts["n_train"] / facts["n_train"].sum()
    assert row["imbalance"] == pytest.approx(share[row["class"]] - 1 / len(facts))
    assert row["entropy"] == facts["entropy"][row["class"]]
    assert (table["quartile"] == quartile(table["accuracy0"].to_numpy())).all()


def test_population_is_ordered_whatever_the_order_of_the_table(study: Study) -> None:
    mixed = study.classes().sample(frac=1, random_state=0)
    facts = lambda run: study.class_facts(examples_name(study.run_record(run).spec))  # noqa: E731
    pd.testing.assert_frame_equal(population(mixed, facts).table, gathered(study).table)
    keys = ["dataset", "network", "treatment", "technique", "seed", "level", "class"]
    assert (
        gathered(study)
        .table[keys]
        .astype({"dataset": str})
        .equals(gathered(study).table[keys].sort_values(keys, kind="stable").astype({"dataset": str}))
    )


def test_quartile_is_that_of_qcut() -> None:
    values = np.random.default_rng(0).random(101)
    np.testing.assert_array_equal(quartile(values), pd.qcut(values, 4, labels=False))
    assert set(quartile(np.array([0.9, 0.9, 0.9, np.nan]))[:3]) == {0.0}
    assert np.isnan(quartile(np.array([np.nan]))).all()


def test_population_lists_what_it_leaves_out(study: Study) -> None:
    made = gathered(study)
    n_untested = int(((study.classes()["n"] == 0) & (study.classes()["level"] > 0)).sum())
    assert [(out.reason, out.n_rows) for out in made.left_out] == [(NO_EXAMPLE, n_untested)]
    classes = study.classes()
    headless = classes[~((classes["run"] == classes["run"].iloc[0]) & (classes["level"] == 0))]
    facts = lambda run: study.class_facts(examples_name(study.run_record(run).spec))  # noqa: E731
    assert NO_DENSE in {out.reason for out in population(headless, facts).left_out}


def test_a_data_set_without_facts_loses_the_terms_not_the_rows(study: Study) -> None:
    def nothing(run: str) -> pd.DataFrame:
        raise PruneScopeError("there are none")

    result = regression(population(study.classes(), nothing))
    assert {"imbalance", "entropy"} <= {out.name for out in result.left_out}
    assert result.statistics.n_rows == len(gathered(study).table)


@pytest.mark.parametrize("wrong", ["twice", "percent"])
def test_a_table_that_makes_no_sense_is_refused(study: Study, wrong: str) -> None:
    classes = study.classes()
    classes = pd.concat([classes, classes.iloc[:1]]) if wrong == "twice" else classes.assign(sparsity=95.0)
    with pytest.raises(PruneScopeError, match="stand twice" if wrong == "twice" else "A sparsity is 95"):
        population(classes, lambda run: study.class_facts("qmnist-writers"))
