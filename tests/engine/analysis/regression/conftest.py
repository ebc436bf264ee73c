"""One thread for every test, and a study of two data sets and two networks."""

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits

from engine.store.study import Study
from tests.support.studies import make_study


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """statsmodels on matrices this small is faster alone, far so on a busy machine."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Two data sets and two networks; class 3 of the second has no test example."""
    path = tmp_path_factory.mktemp("many")
    few = {"writers": 0, "examples": 400, "levels": 4, "seeds": 2}
    make_study(path, **few)
    make_study(path, **few, network="vgg11", treatments=("rewind",))
    return make_study(path, **few, dataset="fashion-mnist", split="official", without_examples=(3,), random=5)
