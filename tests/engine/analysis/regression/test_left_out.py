"""What a regression goes without and says so: terms, columns, rows, errors; what it refuses; its cautions."""

import numpy as np
import pandas as pd
import pytest

from engine.analysis.regression.cautions import FEW_CLUSTERS
from engine.analysis.regression.population import Population
from engine.analysis.regression.population_regression import formula_regression, regression
from engine.analysis.regression.standard_errors import LONE_ROW
from engine.analysis.regression.terms import NOWHERE, PAPER, PLAIN
from engine.errors import PruneScopeError
from tests.engine.analysis.regression.planted import HAC, planted_population, planted_with, reference


def test_terms_that_do_not_vary_drop_out_and_are_listed() -> None:
    table = planted_population().table
    one = Population(table[table["dataset"] == "dataset000"].reset_index(drop=True))
    result = regression(one)
    assert {out.name for out in result.left_out} == {"dataset", "np.exp(sparsity):dataset"}
    assert "dataset" not in result.formula
    kept = tuple(key for key in PAPER if "dataset" not in key)
    theirs = reference(one.table, kept, **HAC)
    np.testing.assert_allclose(result.with_errors("hac")["coefficient"], theirs.params, rtol=1e-8)


def test_a_constant_number_drops_out_with_its_value() -> None:
    result = regression(planted_with(imbalance=0.0))
    (out,) = result.left_out
    assert (out.name, out.reason) == ("imbalance", "it is 0 in all rows")
    assert result.tests[0].reason and np.isnan(result.tests[0].p) and not result.tests[1].reason


def test_a_column_that_repeats_others_is_left_out_and_the_rest_is_exact() -> None:
    table = planted_population().table
    doubled = planted_with(entropy=3 - 2 * table["imbalance"])
    result = regression(doubled)
    (out,) = result.left_out
    assert out.name == "entropy" and out.reason == "it is a combination of Intercept, imbalance"
    theirs = reference(table, tuple(key for key in PAPER if key != "entropy"), **HAC)
    np.testing.assert_allclose(result.with_errors("hac")["coefficient"], theirs.params, rtol=1e-8)


def test_a_combination_without_runs_is_left_out() -> None:
    table = planted_population().table
    never = (table["treatment"] == "treatment001") & (table["technique"] == "technique002")
    result = regression(Population(table[~never].reset_index(drop=True)))
    assert [out.name for out in result.left_out] == ["treatment[T.treatment001]:technique[T.technique002]"]
    assert result.left_out[0].reason == "it is 0 in all rows"
    assert any("1 of 6 combinations of treatment and technique" in caution for caution in result.cautions)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_rows_with_a_missing_or_infinite_number_are_left_out_and_counted(bad: float) -> None:
    entropy = planted_population().table["entropy"].to_numpy().copy()
    entropy[5:25] = bad
    result = regression(planted_with(entropy=entropy))
    (out,) = result.left_out
    assert (out.n_rows, out.reason) == (20, "entropy is missing or infinite")
    rest = planted_population().table.drop(index=range(5, 25))
    np.testing.assert_allclose(result.with_errors("hac")["coefficient"], reference(rest, PAPER).params, rtol=1e-8)


def test_a_number_that_no_row_has_takes_its_term_along_and_not_the_rows() -> None:
    result = regression(planted_with(entropy=np.nan))
    assert [(out.name, out.reason) for out in result.left_out] == [("entropy", NOWHERE)]
    assert result.statistics.n_rows == len(planted_population().table)


def refused(table: pd.DataFrame, keys: tuple[str, ...] = PAPER, link: str = "linear") -> str:
    with pytest.raises(PruneScopeError) as error:
        regression(Population(table), keys, link)
    return str(error.value)


def test_what_cannot_be_fitted_is_refused_in_a_sentence() -> None:
    table = planted_population().table
    assert "rows cannot carry" in refused(table.iloc[::200])
    assert "nothing to fit" in refused(table.iloc[:0])
    assert "Every class accuracy is 0.5" in refused(table.assign(accuracy=0.5))
    assert "No row has all numbers" in refused(table.assign(accuracy=np.nan))
    assert "There is no term 'sparsty'" in refused(table, ("sparsty",))
    assert "one is 1.5" in refused(table.assign(accuracy=np.where(table.index == 3, 1.5, 0.5)), link="logit")
    assert "does not settle" in refused(
        table.assign(accuracy=(table["technique"] == "technique001").astype(float)), ("technique",), "logit"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("accuracy ~ sparsit", "'sparsit' is not defined"),
        ("accuracy ~ sparsity + I(2 * sparsity)", "it is a combination of sparsity"),
        ("accuracy ~ (", "cannot be used"),
        ("accuracy ~ np.log(quartile)", "np.log(quartile) is not finite in 630 rows"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_formula_that_cannot_be_fitted_is_refused_in_a_sentence(text: str, message: str) -> None:
    with pytest.raises(PruneScopeError, match="formula") as error:
        formula_regression(planted_population(), text)
    assert message in str(error.value)


def test_one_run_has_no_errors_by_run_and_says_so() -> None:
    table = planted_population(n_levels=12).table
    result = regression(Population(table[table["run"] == "run000"].reset_index(drop=True)), PLAIN)
    assert set(result.no_errors) == {"run"}
    assert result.with_errors("run")["se"].isna().all() and result.with_errors("hac")["se"].notna().all()


def test_a_row_that_alone_carries_a_coefficient_leaves_no_hc3_and_no_f() -> None:
    table = planted_population().table
    technique = table["technique"].astype(str).where(table.index != 17, "alone").astype("category")
    result = regression(planted_with(technique=technique), PLAIN, errors="hc3")
    assert result.no_errors == {"hc3": LONE_ROW} and np.isnan(result.statistics.f)
    assert result.with_errors("hc3")["se"].isna().all() and result.with_errors("run")["se"].notna().all()


def test_cautions_name_a_small_study_and_confounded_terms() -> None:
    table = planted_population(n_datasets=1, n_techniques=2, n_levels=3, n_seeds=1).table
    close = table.assign(entropy=1 + 10 * table["imbalance"] + 1e-4 * table["class"], protocol=table["run"])
    result = regression(Population(close))
    text = " ".join(result.cautions)
    assert f"fewer than {FEW_CLUSTERS} classes" in text and "runs for" in text
    assert "explain" in text and "condition number" in text and "differ in protocol" in text
    assert not regression(planted_population(n_datasets=5), PLAIN).cautions
