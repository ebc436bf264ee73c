"""How much faster the paper's regression is than statsmodels' formula call, with equal results and less memory.

949,298 rows and 50 columns, each side in a process of its own. The ratio is of the same job, coefficients with HAC
errors; the time of all that the page shows stands beside it.
"""

import multiprocessing
import resource
import statistics
import sys
import time
from multiprocessing.queues import Queue
from typing import Any

import numpy as np

from engine.analysis.regression.terms import PAPER, formula
from tests.support.population_rows import made_population

N_TIMES = 5
"""A job of a second is timed by the median of so many, one of a minute once."""

MORE_THAN_95 = 0.05 / 50
"""Chance that one of 50 intervals misses is 5 % when each may miss this often."""


def theirs(answers: "Queue[Any]") -> None:
    """The formula call as one writes it."""
    import statsmodels.formula.api as smf

    population, _ = made_population()
    begun = time.perf_counter()
    fit = smf.ols(formula(PAPER), population.table).fit(cov_type="HAC", cov_kwds={"maxlags": 3, "use_correction": True})
    coefficients, errors = fit.params, fit.bse
    seconds = time.perf_counter() - begun
    answers.put((list(coefficients.index), coefficients.to_numpy(), errors.to_numpy(), seconds, peak_megabytes(), 0.0))


def ours(answers: "Queue[Any]") -> None:
    """The engine's, and then the whole record that the page shows."""
    from engine.analysis.regression.population_regression import fitted_model, regression
    from engine.analysis.regression.regression_table import regression_table
    from engine.analysis.regression.standard_errors import estimates

    population, _ = made_population()
    times, peak = [], 0.0
    for _ in range(N_TIMES):
        begun = time.perf_counter()
        model = fitted_model(population)
        result = estimates(model.fit, "hac")
        coefficients, errors = result.coefficients, result.standard_errors
        times.append(time.perf_counter() - begun)
        peak = peak or peak_megabytes()
    seconds = statistics.median(times)
    begun = time.perf_counter()
    regression_table(regression(population))
    answers.put((list(model.fit.design.names), coefficients, errors, seconds, peak, time.perf_counter() - begun))


def peak_megabytes() -> float:
    """Most memory that this process ever held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def in_a_process(work: Any) -> Any:
    """What the work answers, from a fresh process."""
    context = multiprocessing.get_context("spawn")
    answers: Queue[Any] = context.Queue()
    process = context.Process(target=work, args=(answers,))
    process.start()
    answer = answers.get()
    process.join()
    return answer


def run() -> float:
    """Seconds of the formula call over ours."""
    names, coefficients, errors, seconds, peak, whole = in_a_process(ours)
    their_names, their_coefficients, their_errors, their_seconds, their_peak, _ = in_a_process(theirs)
    place = [their_names.index(name) for name in names]
    off = np.abs(coefficients / their_coefficients[place] - 1).max(), np.abs(errors / their_errors[place] - 1).max()
    assert off[0] < 1e-8 and off[1] < 1e-6, off
    print(f"coefficients equal to {off[0]:.0e} relative, errors to {off[1]:.0e}")
    _print_coverage(coefficients, errors)
    print(f"statsmodels {their_seconds:.1f} s and {their_peak:,.0f} MB; here {seconds:.2f} s and {peak:,.0f} MB")
    print(f"with errors of four kinds, effects, residuals and the printed table: {whole:.2f} s")
    assert peak <= their_peak / 2, "more than half of the memory"
    return float(their_seconds / seconds)


def _print_coverage(coefficients: np.ndarray, errors: np.ndarray) -> None:
    from scipy.special import ndtri

    _, truth = made_population()
    away = np.abs(coefficients - truth) / errors
    assert away.max() < -ndtri(MORE_THAN_95 / 2), away
    within = int((away < -ndtri(0.025)).sum())
    print(f"{within} of {len(truth)} known coefficients lie in their 95 % intervals, all in those that hold together")
