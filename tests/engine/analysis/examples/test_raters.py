"""Cohen's kappa against statsmodels' own."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.inter_rater import cohens_kappa

from engine.analysis.examples.raters import agreeing

KINDS = ("mislabelled", "ambiguous", "hard")


def marks(seed: int, n: int = 60, alike: float = 0.6) -> pd.DataFrame:
    """Marks of two people who agree about so often, and of a third."""
    rng = np.random.default_rng(seed)
    first = rng.choice(KINDS, n, p=[0.5, 0.3, 0.2])
    second = np.where(rng.random(n) < alike, first, rng.choice(KINDS, n))
    rows = [(example, who, mark) for who, said in (("a", first), ("b", second)) for example, mark in enumerate(said)]
    rows += [(example, "c", "hard") for example in range(5)] + [(99, "a", "hard")]
    return pd.DataFrame(rows, columns=["example", "who", "mark"]).sample(frac=1, random_state=seed)


@pytest.mark.parametrize("seed", range(5))
def test_kappa_is_that_of_statsmodels(seed: int) -> None:
    table = marks(seed)
    found = agreeing(table, "a", "b", KINDS)
    referee = cohens_kappa(found.table.to_numpy())
    assert found.kappa == pytest.approx(referee.kappa, abs=1e-12) and found.n == 60
    both = table[table["example"] < 60].pivot(index="example", columns="who", values="mark")
    assert found.share == pytest.approx((both["a"] == both["b"]).mean())
    assert agreeing(table, "b", "a", KINDS).kappa == pytest.approx(found.kappa)


def test_where_kappa_means_nothing_it_says_why() -> None:
    table = marks(0)
    assert np.isnan(agreeing(table, "a", "nobody", KINDS).kappa) and agreeing(table, "a", "nobody", KINDS).n == 0
    same = pd.DataFrame({"example": [1, 2, 1, 2], "who": ["a", "a", "b", "b"], "mark": ["hard"] * 4})
    found = agreeing(same, "a", "b", KINDS)
    assert found.share == 1 and np.isnan(found.kappa) and "same mark" in found.reason
