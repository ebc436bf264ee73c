"""No address breaks a page: every field of every page with every odd value, over unlike studies."""

from itertools import product

import pytest

from tests.fuzz.addresses import PAGES, fields_of
from tests.fuzz.conftest import FILLED, Session
from tests.fuzz.odd_values import ODD_VALUES
from tests.support.harness.turns import FULL, in_turn

FIELDS = [(file, field) for file in PAGES for field in fields_of(file)]
SPACE = [
    (*FIELDS[i], FILLED[(i + j) % len(FILLED)], value)
    for (i, _), (j, value) in product(enumerate(FIELDS), enumerate(ODD_VALUES))
]
EVERY = 3 if FULL else 199
"""Of the space one case in so many each day: no divisor of the number of values, so that all take turns."""
TODAY = in_turn(SPACE, EVERY, full=False)


@pytest.mark.timeout(3 * len(TODAY))
def test_no_value_of_an_address_field_breaks_a_page(session: Session) -> None:
    assert len(SPACE) > 2_000 * 3
    broken = []
    for file, field, study, value in TODAY:
        app = session(file, {"study": study} | {field: value})
        if app.exception:
            broken.append((file, study, field, value, app.exception[0].message))
    assert not broken, f"{len(broken)} of {len(TODAY)}: {broken[:10]}"
