"""A random walk in a real browser over five studies meets no exception and no error in console or server.

150 steps; `PRUNESCOPE_WALK_STEPS=1000` takes more, `PRUNESCOPE_SEED` draws others.
"""

import os
import random
from collections.abc import Callable

import pytest

from tests.browser.conftest import Watched
from tests.support.dashboard.browser_walk import Walker
from tests.support.harness.seed import SEED

pytestmark = pytest.mark.quiet
N_STEPS = int(os.environ.get("PRUNESCOPE_WALK_STEPS", "150"))
START = "/frontier?study=made"


@pytest.mark.timeout(60 + 20 * N_STEPS)
def test_no_walk_breaks_a_page(visit: Callable[..., Watched]) -> None:
    watched = visit()
    page = watched.open(START)
    walker = Walker(page, watched.settle, random.Random(SEED))
    try:
        walker.walk(N_STEPS)
    finally:
        print(walker.path())
    assert len(walker.said) == N_STEPS
