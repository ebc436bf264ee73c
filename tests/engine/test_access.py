"""Who may write: said once for all, asked by every function that writes for people."""

import pytest

from engine.access import AccessError, Person, access_mode, acting_as, check_may_write, this_user
from engine.errors import PruneScopeError


def test_everybody_writes_where_it_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PRUNESCOPE_ACCESS", raising=False)
    assert access_mode() == "open" and check_may_write("marks") == this_user().name
    with acting_as(Person("Ada", "viewer")):
        assert check_may_write("marks") == "Ada"


def test_nobody_writes_in_a_demonstration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRUNESCOPE_ACCESS", "demo")
    with acting_as(Person("Ada")), pytest.raises(AccessError, match="marks cannot be written here"):
        check_may_write("marks")


def test_editors_write_who_are_signed_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRUNESCOPE_ACCESS", "sign-in")
    with pytest.raises(AccessError, match="Nobody is signed in"):
        check_may_write("marks")
    with acting_as(Person("Vic", "viewer")), pytest.raises(AccessError, match="Vic may look and not write"):
        check_may_write("marks")
    with acting_as(Person("Ada")):
        assert check_may_write("marks") == "Ada"
        with acting_as(None), pytest.raises(AccessError):
            check_may_write("marks")
    with pytest.raises(AccessError):
        check_may_write("marks")


def test_an_unknown_kind_of_access_lets_nobody_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRUNESCOPE_ACCESS", "signin")
    with pytest.raises(PruneScopeError, match="did you mean 'sign-in'"):
        check_may_write("marks")
