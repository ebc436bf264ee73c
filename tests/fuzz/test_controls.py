"""No state of its controls breaks a page: each at its ends, in any order, across changes of the study and the page."""

from itertools import pairwise

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from streamlit.testing.v1 import AppTest

from tests.fuzz.addresses import PAGES
from tests.fuzz.conftest import FILLED, Session
from tests.fuzz.controls import FRAME, controls, push
from tests.support.harness.turns import FULL, in_turn

STUDIED = [file for file in PAGES if file not in ("pages/bring.py",)]
"""Pages whose controls depend on a study."""


@pytest.mark.timeout(3600 if FULL else 300)
@pytest.mark.parametrize("file", in_turn(STUDIED, 7))
def test_each_control_at_each_end_survives_other_studies(session: Session, file: str) -> None:
    """Two pages each day, between two studies; all with PRUNESCOPE_FULL, which prints how many states that were."""
    n_states, pairs = 0, list(pairwise((*FILLED, FILLED[0])))
    for last in (True, False) if FULL else (True,):
        for here, there in in_turn(pairs, 3):
            app = session(file, {"study": here})
            for key in list(controls(app)):
                if key not in controls(app):  # another control has taken it away
                    continue
                push(controls(app)[key], last)
                assert not app.run().exception, (file, here, key, last, app.exception[0].message)
                for study in (there, here):
                    app.selectbox(key="study").select(study).run()
                    assert not app.exception, (file, here, key, last, study, app.exception[0].message)
                n_states += 3
    print(f"{file}: {n_states} states")


@pytest.mark.timeout(3600 if FULL else 300)
def test_no_order_of_controls_pages_and_studies_breaks_a_page(session: Session) -> None:
    class Visit(RuleBasedStateMachine):
        """Somebody who moves controls to their ends, chooses other studies and experiments, and turns pages."""

        app: AppTest

        def __init__(self) -> None:
            super().__init__()
            self.app = session("app.py", {"study": FILLED[0]})

        @rule(file=st.sampled_from(PAGES))
        def turn_to(self, file: str) -> None:
            try:
                self.app.switch_page(file).run()
            except ValueError:  # the tester's own: it cannot tell the new page of a choice that the old one had
                self.app = session(file, {"study": FILLED[1]})

        @precondition(lambda self: controls(self.app))
        @rule(data=st.data(), last=st.booleans())
        def push_a_control(self, data: st.DataObject, last: bool) -> None:
            key = data.draw(st.sampled_from(sorted(controls(self.app))), "control")
            push(controls(self.app)[key], last)
            self.app.run()

        @rule(data=st.data(), last=st.booleans())
        def choose_what_is_shown(self, data: st.DataObject, last: bool) -> None:
            there = sorted(str(one.key) for one in self.app.selectbox if one.key in FRAME)
            if there:
                push(self.app.selectbox(key=data.draw(st.sampled_from(there), "setting")), last)
                self.app.run()

        @invariant()
        def page_is_whole(self) -> None:
            assert not self.app.exception, self.app.exception[0].message

    run_state_machine_as_test(Visit, settings=settings(max_examples=60 if FULL else 2, stateful_step_count=12))
