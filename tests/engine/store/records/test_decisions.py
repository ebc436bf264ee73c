"""A decision is proposed, approved by another, withdrawn, superseded; nothing of it is lost or changed unseen."""

import itertools
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.errors import PruneScopeError
from engine.store.files import leftovers, remove_leftovers
from engine.store.records.decisions import (
    FOLDER,
    approve,
    broken_decisions,
    decision_file,
    propose,
    read_decision,
    read_decisions,
    withdraw,
)
from engine.store.study import Study
from engine.store.verification.verify import set_aside, verify_study
from tests.support.harness.crashes import CRASHED, crash_at
from tests.support.harness.forks import exit_code, in_child
from tests.support.run_folders import made_study

RECORD = {"title": "LeNet on digits", "ships": {"run": "0123456789ab", "level": 3}}


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return Study(tmp_path / "study")


def test_a_decision_goes_from_proposed_to_approved_to_withdrawn(study: Study) -> None:
    key = propose(study, RECORD, " Ada  Lovelace ", "for the kiosk", files={"rivals.csv": b"a,b\n"})
    made = read_decision(study, key)
    assert made.record == RECORD and made.status == "proposed" and made.events[0].who == "Ada Lovelace"
    assert made.approval is None and decision_file(study, key, "rivals.csv") == b"a,b\n"
    assert approve(study, key, "Grace Hopper", "looked at it").status == "approved"
    gone = withdraw(study, key, "Ada Lovelace", "the data was wrong")
    assert gone.status == "withdrawn" and gone.approval is not None and gone.approval.who == "Grace Hopper"
    assert [event.action for event in gone.events] == ["proposed", "approved", "withdrawn"]


@pytest.mark.parametrize("name", ["Ada", "ada", " A D A ", "\uff21da"])
def test_nobody_approves_what_they_proposed(study: Study, name: str) -> None:
    key = propose(study, RECORD, "Ada")
    with pytest.raises(PruneScopeError, match="somebody else has to approve it"):
        approve(study, key, name)
    assert read_decision(study, key).status == "proposed"


def test_approval_supersedes_and_a_proposal_does_not(study: Study) -> None:
    old = propose(study, RECORD, "Ada")
    with pytest.raises(PruneScopeError, match="is proposed; only one that is approved can be superseded"):
        propose(study, RECORD, "Ada", supersedes=old)
    approve(study, old, "Grace")
    new, other = (propose(study, RECORD, "Ada", supersedes=old) for _ in range(2))
    assert read_decision(study, old).status == "approved"
    approve(study, new, "Grace")
    assert (read_decision(study, old).status, read_decision(study, old).superseded_by) == ("superseded", new)
    for act in (lambda: approve(study, other, "Grace"), lambda: withdraw(study, old, "Ada", "why not")):
        with pytest.raises(PruneScopeError, match="superseded"):
            act()
    withdraw(study, new, "Ada", "no good either")
    assert read_decision(study, old).status == "superseded", "what was replaced does not come back by itself"
    assert [one.id for one in read_decisions(study)] == [other, new, old]


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (lambda study, key: approve(study, key, "Grace"), "is withdrawn: nothing can follow"),
        (lambda study, key: withdraw(study, key, "Ada", " "), "Say why"),
        (lambda study, key: propose(study, RECORD, ""), "The name is ''; it should be 1 to 100 letters"),
        (lambda study, key: propose(study, RECORD, "a\0b"), "it should be"),
        (lambda study, key: propose(study, RECORD, "Ada", "x" * 2001), "at most 2,000 are kept"),
        (lambda study, key: propose(study, RECORD, "Ada", files={"../x": b""}), "cannot be the name"),
        (lambda study, key: propose(study, RECORD, "Ada", supersedes="../.."), "There is no decision '../..'"),
        (lambda study, key: read_decision(study, "20260101-00000000"), "There is no decision"),
        (lambda study, key: decision_file(study, key, "record.json"), "has no file"),
    ],
)
def test_what_makes_no_sense_is_refused(study: Study, act, text: str) -> None:
    key = propose(study, RECORD, "Ada")
    withdraw(study, key, "Ada", "changed my mind")
    with pytest.raises(PruneScopeError, match=text):
        act(study, key)
    assert len(read_decisions(study)) == 1 and broken_decisions(study) == []
    assert [path.name for path in (study.path / FOLDER).iterdir()] == [key]


def test_of_two_at_once_one_wins_and_the_other_is_told(study: Study) -> None:
    key = propose(study, RECORD, "Ada")

    def act(number: int) -> bool:
        try:
            withdraw(study, key, "Ada", "why") if number % 2 else approve(study, key, f"Grace {number}")
        except PruneScopeError:
            return False
        return True

    with ThreadPoolExecutor(8) as people:
        done = list(people.map(act, range(16)))
    events = read_decision(study, key).events
    assert sum(done) == len(events) - 1 and len(events) in (2, 3) and broken_decisions(study) == []


@pytest.mark.parametrize("change", ["byte", "event", "file", "record"])
def test_verify_finds_what_was_changed_and_sets_it_aside(tmp_path: Path, change: str) -> None:
    study = made_study(tmp_path, 1)
    key = propose(study, RECORD, "Ada", files={"rivals.csv": b"a\n"})
    approve(study, key, "Grace")
    withdraw(study, key, "Ada", "why")
    assert verify_study(study) == []
    folder = tmp_path / FOLDER / key
    if change == "byte":
        text = (folder / "event-0003.json").read_text()
        (folder / "event-0003.json").write_text(text.replace("why", "yes"))
    elif (
        change == "event"
    ):  # an approved decision that looks as if nobody had withdrawn it is whole; one in between is not
        (folder / "event-0002.json").unlink()
    elif change == "file":
        (folder / "rivals.csv").write_bytes(b"b\n")
    else:
        whole = json.loads((folder / "record.json").read_text())
        whole["record"]["title"] = "Another"
        (folder / "record.json").write_text(json.dumps(whole))
    (fault,) = verify_study(study)
    assert fault.name == f"{FOLDER}/{key}" and "damaged" in fault.reason
    assert "set aside in broken/" in set_aside(study, fault)
    assert verify_study(study) == [] and read_decisions(study) == []


def test_a_kill_at_any_moment_loses_nothing_that_was_there(study: Study) -> None:
    """A process that proposes a decision which replaces another and approves it ends at each of its writes, syncs and
    renames: what was there before is whole, and each step is there as a whole or not at all."""
    old = propose(study, RECORD, "Ada")
    approve(study, old, "Grace")

    def work() -> None:
        key = propose(study, {**RECORD, "title": "new"}, "Ada", supersedes=old, files={"rivals.csv": b"1\n" * 99})
        approve(study, key, "Grace")

    seen = set()
    for moment in itertools.count(1):
        before = {one.id for one in read_decisions(study)}

        def dying(moment: int = moment) -> None:
            crash_at(moment)
            work()

        code = exit_code(in_child(dying))
        assert broken_decisions(study) == []
        remove_leftovers(study.path)
        assert leftovers(study.path) == []
        new = [one for one in read_decisions(study) if one.id not in before]
        assert len(new) <= 1 and read_decision(study, old).events[-1].action == "approved"
        state = new[0].status if new else "nothing"
        seen.add(state)
        assert (read_decision(study, old).status == "superseded") == (state == "approved")
        if code != CRASHED:
            assert code == 0 and state == "approved"
            break
        if state == "approved":  # begun again with another that is in force
            old = new[0].id
        assert moment < 200
    assert seen == {"nothing", "proposed", "approved"} and os.listdir(study.path) == [FOLDER]


def test_a_last_step_that_is_gone_is_found(study: Study) -> None:
    key = propose(study, RECORD, "Ada")
    approve(study, key, "Grace")
    folder = study.path / FOLDER / key
    kept = (folder / "event-0002.json").read_bytes()
    (folder / "event-0002.json").unlink()
    with pytest.raises(PruneScopeError, match="its history had 2 steps, and not all of them are there"):
        read_decision(study, key)
    assert broken_decisions(study) and not read_decisions(study)
    (folder / "event-0002.json").write_bytes(kept)
    assert read_decision(study, key).status == "approved"


def test_a_kill_before_a_step_is_counted_loses_nothing(study: Study) -> None:
    key = propose(study, RECORD, "Ada")
    counted = (study.path / FOLDER / key / "steps.json").read_bytes()
    approve(study, key, "Grace")
    (study.path / FOLDER / key / "steps.json").write_bytes(counted)
    assert read_decision(study, key).status == "approved"
    assert withdraw(study, key, "Ada", "wrong data").status == "withdrawn"
    (study.path / FOLDER / key / "event-0003.json").unlink()
    assert broken_decisions(study)
