"""`regression`: which classes does pruning hurt, controlling for the rest."""

from argparse import ArgumentParser, Namespace, _SubParsersAction
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from engine.errors import PruneScopeError
from engine.store.files import write_file
from engine.store.study import Study, examples_name

if TYPE_CHECKING:
    from engine.analysis.regression.result import Regression


def add(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add `regression`."""
    parser = commands.add_parser("regression", help="class accuracy on sparsity, start, imbalance, entropy and setup")
    parser.add_argument("--study", required=True, help="folder of the study")
    parser.add_argument("--terms", default="paper", help="paper, plain (no cross terms), or terms with commas between")
    parser.add_argument("--formula", help="a formula of statsmodels instead; it may run any code, so write it yourself")
    parser.add_argument("--link", default="linear", choices=("linear", "logit"), help="logit: fractional logit GLM")
    parser.add_argument("--errors", default="hac", choices=("hac", "hc3", "run", "class"), help="of the printed table")
    parser.add_argument("--only", action="append", default=[], metavar="COLUMN=VALUE", help="such as dataset=qmnist")
    parser.add_argument("--without", action="append", default=[], help="a technique or treatment to leave out")
    parser.add_argument("--with-dense", action="store_true", help="level 0 too, where nothing is pruned yet")
    parser.add_argument("--without-collapsed", action="store_true", help="no network within 1.5 times of guessing")
    parser.add_argument("--csv", help="file for the coefficients with errors of every kind")
    parser.set_defaults(act=print_regression)


def print_regression(options: Namespace) -> None:
    """Print the table, what was left out, cautions, effects and the paper's two tests."""
    from engine.analysis.regression.regression_table import regression_table
    from engine.analysis.regression.standard_errors import ERRORS

    result = _fitted(options)
    print(regression_table(result))
    print(f"\n{result.formula}\n")
    for out in result.left_out:
        print(f"Left out: {f'{out.n_rows:,} rows' if out.n_rows else out.name}: {out.reason}.")
    for caution in result.cautions:
        print(f"Caution: {caution}")
    for kind, reason in result.no_errors.items():
        print(f"No errors {ERRORS[kind].in_words}: {reason}.")
    _print_effects(result)
    for test in result.tests:
        if not test.reason:
            sign = ">" if test.direction > 0 else "<"
            print(
                f"{test.key} {sign} 0: {test.estimate:+.4f} ({test.se:.4f}), one-sided p = {test.p:.3g}; "
                f"the paper {test.published:+.4f} ({test.published_se:.3f})"
            )
    if options.csv:
        write_file(Path(options.csv), result.coefficients.to_csv(index=False).encode())
        print(f"Coefficients with errors of every kind: {options.csv}")


def _fitted(options: Namespace) -> "Regression":
    """The regression that was asked for."""
    from engine.analysis.regression.population import population
    from engine.analysis.regression.population_regression import formula_regression, regression
    from engine.analysis.regression.terms import PAPER, PLAIN

    study = Study(options.study)
    rows = _chosen(study.classes(), options.only)
    rows = rows[~(rows["technique"].isin(options.without) | rows["treatment"].isin(options.without))]
    class_rows = population(
        rows,
        lambda run: study.class_facts(examples_name(study.run_record(run).spec)),
        with_dense=options.with_dense,
        without_collapsed=options.without_collapsed,
    )
    if options.formula:
        return formula_regression(class_rows, options.formula, options.link, options.errors)
    keys = {"paper": PAPER, "plain": PLAIN}.get(options.terms) or tuple(map(str.strip, options.terms.split(",")))
    return regression(class_rows, keys, options.link, options.errors)


def _print_effects(result: "Regression") -> None:
    """Every effect with the widest of its intervals, and the facts about classes that are not identified."""
    from engine.analysis.regression.class_evidence import ENOUGH_CLASSES
    from engine.analysis.regression.standard_errors import KINDS

    if len(result.effects):
        print("\nMean change of class accuracy, all else equal, with the widest of its 95 % intervals:")
    for row in map(result.widest, result.effects["key"].unique()):
        begin, end = (value if isinstance(value, str) else f"{value:.4g}" for value in (row["begin"], row["end"]))
        change = f"{row['key']} +{end}" if begin == "0" else f"{row['key']} {begin} -> {end}"
        ends = f"{100 * row['low']:+.2f} to {100 * row['high']:+.2f}, {KINDS[row['errors']].in_words}"
        print(f"  {change:60} {100 * row['estimate']:+8.2f} pt  ({ends})")
    for key, n in result.informing.items():
        if n < ENOUGH_CLASSES:
            print(f"Not identified by this study: {key} differs among {n} classes; {ENOUGH_CLASSES} are needed.")


def _chosen(classes: pd.DataFrame, only: list[str]) -> pd.DataFrame:
    """The rows that every COLUMN=VALUE allows."""
    for words in only:
        column, _, value = words.partition("=")
        if column not in classes:
            raise PruneScopeError(f"There is no column {column!r}; there are {', '.join(map(str, classes.columns))}.")
        values = classes[column].astype(str)
        if value not in set(values.unique()):
            raise PruneScopeError(f"No row has {column} {value!r}; there are {', '.join(sorted(values.unique()))}.")
        classes = classes[(values == value).to_numpy()].reset_index(drop=True)
    return classes
