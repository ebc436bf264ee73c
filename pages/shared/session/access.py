"""Who sits at the page, what they may do, and how they sign in; the engine refuses again where a page forgets to ask.

Signed in is who Streamlit's OpenID Connect names and whose token has not run out; or, where a proxy in front is trusted
to say it, who its header names.
"""

import fnmatch
import os
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any, ParamSpec

import streamlit as st

from engine.access import DEMO, OPEN, SIGN_IN, Person, access_mode, acting_as, this_user
from engine.errors import PruneScopeError
from pages.shared import formats
from pages.shared.session.pace import check_pace

HEADER, CLAIM, EDITORS, ALLOWED = (
    "PRUNESCOPE_PROXY_HEADER",
    "PRUNESCOPE_ROLE_CLAIM",
    "PRUNESCOPE_EDITORS",
    "PRUNESCOPE_ALLOWED",
)
"""Variables: the header of a trusted proxy (none is trusted without), the claim that holds roles, who edits whatever
their claims say, and who may come in at all; the last two are lists with commas, `*` stands for anything."""
NAMES = ("email", "preferred_username", "name", "sub")
"""Claims that name a person, the first that is there."""
OWN_NAME = "own name"
"""Where the session keeps the name that somebody gave who need not sign in."""

Arguments = ParamSpec("Arguments")


def person() -> Person | None:
    """Who sits at the page; None where they are not signed in, their token has run out, or they are not allowed."""
    mode = access_mode()
    if mode == DEMO:
        return Person("visitor", "viewer")
    if mode == OPEN:
        own = str(st.session_state.get(OWN_NAME) or "").strip()
        return Person(own[:80]) if own else this_user()
    header = os.environ.get(HEADER, "").strip()
    if header:
        name = str(st.context.headers.get(header) or "").strip()
        return person_of({"email": name}) if name else None
    claims = dict(st.user) if st.user.get("is_logged_in") else {}
    return person_of(claims) if claims and not has_expired(claims, time.time()) else None


def person_of(claims: Mapping[str, Any]) -> Person | None:
    """The person whom these claims describe; None where they are nobody, or may not come in."""
    name = next((str(claims[key]) for key in NAMES if claims.get(key)), "")
    allowed = _listed(ALLOWED)
    if not name or (allowed and not _matches(name, allowed)):
        return None
    roles = claims.get(os.environ.get(CLAIM, "").strip() or "roles", ())
    held = {roles} if isinstance(roles, str) else set(map(str, roles)) if isinstance(roles, list | tuple) else set()
    return Person(name, "editor" if "editor" in held or _matches(name, _listed(EDITORS)) else "viewer")


def has_expired(claims: Mapping[str, Any], now: float) -> bool:
    """Whether the token behind these claims has run out; one that does not say when counts as run out."""
    until = claims.get("exp")
    return not isinstance(until, int | float) or isinstance(until, bool) or now >= until


def may_write() -> bool:
    """Whether who sits at the page may write."""
    found = person()
    return access_mode() != DEMO and found is not None and found.role == "editor"


def refusal(what: str) -> str | None:
    """Why who sits at the page may not do something, for the help of its button; None where they may."""
    if may_write():
        return None
    return "Nothing can be changed in a demonstration." if access_mode() == DEMO else f"Only editors {what}."


def writing() -> AbstractContextManager[None]:
    """A block in which the engine knows who writes; refused where the session writes too often."""
    check_pace()
    return acting_as(person())


def name_field(key: str, longest: int) -> str:
    """The name that a step is taken under: of who signed in, else what is typed."""
    found = person()
    if access_mode() == SIGN_IN and found is not None:
        st.caption(f"As {formats.plain(found.name)}")
        return found.name
    return st.text_input("Your name", max_chars=longest, key=key)


def as_person(act: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """The same function, done by who sits at the page; a refusal is said in a corner of it."""

    @wraps(act)
    def done(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        try:
            with writing():
                act(*args, **kwargs)
        except PruneScopeError as error:
            st.toast(formats.plain(error), icon=":material/error:")

    return done


def open_door() -> None:
    """Stop where nobody may look before signing in, with the way in; say where nothing can be changed."""
    try:
        mode = access_mode()
    except PruneScopeError as error:
        st.error(f"**This server is not set up.** {formats.plain(error)}", icon=":material/error:")
        st.stop()
    if mode == DEMO:
        st.sidebar.info("**Demonstration.** Look at everything; nothing can be changed.", icon=":material/visibility:")
    if mode != SIGN_IN:
        return
    if person() is None:
        _ask_in()
        st.stop()


def show_person() -> None:
    """Who is signed in and what they may do, with the way out."""
    found = person() if access_mode() == SIGN_IN else None
    if found is not None:
        st.caption(f"{formats.plain(found.name)} · {found.role}")
        if not os.environ.get(HEADER, "").strip():
            st.button("Sign out", icon=":material/logout:", key="sign-out", on_click=st.logout, type="tertiary")


def _ask_in() -> None:
    """The page of who is not signed in: why, and the way in."""
    st.header("PruneScope", anchor=False)
    if os.environ.get(HEADER, "").strip():
        st.info("**You are not signed in.** Come by the address that your organisation gives.", icon=":material/lock:")
        return
    claims = dict(st.user) if st.user.get("is_logged_in") else {}
    if claims and has_expired(claims, time.time()):
        st.info("**You have been signed out**, because your sign-in has run out.", icon=":material/lock_clock:")
    elif claims:
        name = next((str(claims[key]) for key in NAMES if claims.get(key)), "You")
        st.warning(f"**{formats.plain(name)} may not come in.** Ask whoever runs this server.", icon=":material/block:")
        st.button("Sign out", icon=":material/logout:", key="sign-out", on_click=st.logout)
        return
    else:
        st.info("**Sign in to go on.**", icon=":material/lock:")
    st.button("Sign in", icon=":material/login:", key="sign-in", type="primary", on_click=_sign_in)


def _sign_in() -> None:
    try:
        st.login()
    except Exception as error:  # Streamlit's own kinds, where [auth] of secrets.toml is missing or authlib is
        st.toast(f"This server cannot sign anybody in: {formats.plain(error)}", icon=":material/error:")


def _listed(variable: str) -> list[str]:
    return [part.strip() for part in os.environ.get(variable, "").split(",") if part.strip()]


def _matches(name: str, patterns: list[str]) -> bool:
    return any(fnmatch.fnmatchcase(name.casefold(), pattern.casefold()) for pattern in patterns)
