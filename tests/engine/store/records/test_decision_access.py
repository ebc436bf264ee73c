"""Decisions are taken by who may write; where people sign in, under their own name whatever is typed."""

from pathlib import Path

import pytest

from engine.access import DEMO, SIGN_IN, VARIABLE, AccessError, Person, acting_as
from engine.shipping.detached import Parcel, start
from engine.store.records.decisions import approve, propose, read_decision, read_decisions, withdraw
from engine.store.study import Study


def test_a_demonstration_takes_no_step_and_makes_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = Study(tmp_path)
    key = propose(study, {}, "Ada")
    monkeypatch.setenv(VARIABLE, DEMO)
    for step in (
        lambda: propose(study, {}, "Ada"),
        lambda: approve(study, key, "Grace"),
        lambda: withdraw(study, key, "Ada", "why"),
        lambda: start(Parcel(tmp_path, "0123456789ab", 1, "")),
    ):
        with pytest.raises(AccessError, match="demonstration"):
            step()
    assert [one.status for one in read_decisions(study)] == ["proposed"]


def test_signed_in_names_stand_whatever_is_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, SIGN_IN)
    study = Study(tmp_path)
    with acting_as(Person("ada@example.org")):
        key = propose(study, {}, "Somebody Else")
        with pytest.raises(Exception, match="somebody else has to approve"):
            approve(study, key, "Grace")
    with acting_as(Person("grace@example.org", "viewer")), pytest.raises(AccessError, match="may look and not write"):
        approve(study, key, "Grace")
    with acting_as(Person("grace@example.org")):
        approve(study, key, "Ada")
    events = read_decision(study, key).events
    assert [event.who for event in events] == ["ada@example.org", "grace@example.org"]
