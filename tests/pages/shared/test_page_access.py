"""Whom claims and headers describe, and what they may do."""

import pytest

from engine.access import Person
from pages.shared.session.access import has_expired, person_of


@pytest.mark.parametrize(
    ("claims", "person"),
    [
        ({"email": "ada@example.org", "roles": ["editor"]}, Person("ada@example.org", "editor")),
        ({"email": "ada@example.org", "roles": "editor"}, Person("ada@example.org", "editor")),
        ({"email": "ada@example.org", "roles": ["editors"]}, Person("ada@example.org", "viewer")),
        ({"email": "ada@example.org", "roles": {"editor": True}}, Person("ada@example.org", "viewer")),
        ({"sub": "7"}, Person("7", "viewer")),
        ({"name": "Ada", "preferred_username": "ada"}, Person("ada", "viewer")),
        ({"roles": ["editor"]}, None),
        ({"email": ""}, None),
    ],
)
def test_claims_name_a_person_and_their_role(claims: dict[str, object], person: Person | None) -> None:
    assert person_of(claims) == person


def test_lists_and_the_claims_name_are_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRUNESCOPE_ROLE_CLAIM", "duties")
    monkeypatch.setenv("PRUNESCOPE_ALLOWED", "*@example.org, guest")
    monkeypatch.setenv("PRUNESCOPE_EDITORS", "BOB@example.org")
    assert person_of({"email": "ada@example.org", "roles": ["editor"]}) == Person("ada@example.org", "viewer")
    assert person_of({"email": "ada@example.org", "duties": ["editor"]}) == Person("ada@example.org", "editor")
    assert person_of({"email": "bob@Example.org"}) == Person("bob@Example.org", "editor")
    assert person_of({"sub": "guest"}) == Person("guest", "viewer")
    assert person_of({"email": "eve@elsewhere.net", "duties": ["editor"]}) is None
    assert person_of({"email": "ada@example.org.elsewhere.net"}) is None


@pytest.mark.parametrize(
    ("until", "expired"), [(99, True), (100, True), (101, False), (None, True), ("9", True), (True, True)]
)
def test_a_token_that_has_run_out_or_does_not_say_when_counts_as_none(until: object, expired: bool) -> None:
    assert has_expired({"exp": until}, 100.0) is expired
