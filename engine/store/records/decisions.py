"""Decisions of a study: what was proposed, who approved or withdrew it, what replaced it.

Each is a folder `decisions/<id>/` that appears whole: `record.json`, files that go with it, and one `event-NNNN.json`
per step. Events are added and never changed; each names the digest of what stood before it and holds its own.
`steps.json` says how many there are and what the last one is, so that none can go unseen.
"""

import re
import unicodedata
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from engine.access import SIGN_IN, access_mode, check_may_write
from engine.errors import PruneScopeError
from engine.store.files import (
    file_digest,
    publish,
    remove_folder,
    temporary_beside,
    write_file,
)
from engine.store.records.decision_steps import (
    STEPS,
    check_steps,
    count_steps,
    event_name,
    event_names,
    sealed,
    steps_content,
    unsealed,
)
from engine.store.study import Study

FOLDER, FACTS = "decisions", "record.json"
PROPOSED, APPROVED, WITHDRAWN, SUPERSEDED = "proposed", "approved", "withdrawn", "superseded"
FOLLOWS = {PROPOSED: (APPROVED, WITHDRAWN), APPROVED: (WITHDRAWN,)}
"""What a decision may become by an event of its own; superseded it is by the approval of another."""
LONGEST_NAME, LONGEST_NOTE = 100, 2000
ID = re.compile(r"\d{8}-[0-9a-f]{8}")


@dataclass(frozen=True)
class Event:
    """One step of a decision: what it became, who did it, when, and why."""

    action: str
    who: str
    time: str
    note: str = ""
    supersedes: str = ""
    """Of a proposal: the decision that its approval replaces."""


@dataclass(frozen=True, eq=False)
class Decision:
    """A decision with its whole history, and the decision that replaced it, where one did."""

    id: str
    record: dict[str, Any]
    events: tuple[Event, ...]
    files: dict[str, str]
    """Digests of the files beside its record, by their names."""
    superseded_by: str = ""

    @property
    def status(self) -> str:
        """proposed, approved, withdrawn or superseded."""
        return SUPERSEDED if self.superseded_by else self.events[-1].action

    @property
    def supersedes(self) -> str:
        """The decision that this one replaces once it is approved; empty where there is none."""
        return self.events[0].supersedes

    @property
    def approval(self) -> Event | None:
        """The review that approved it; it stays on record when the decision is withdrawn later."""
        return next((event for event in self.events if event.action == APPROVED), None)


def propose(
    study: Study,
    record: Mapping[str, Any],
    who: str,
    note: str = "",
    supersedes: str = "",
    files: Mapping[str, bytes] | None = None,
) -> str:
    """Id of the decision that is now in the study, proposed; `files` lie beside its record.

    It may replace one that is approved: that one stays in force until this one is approved.
    """
    event = Event(PROPOSED, _signed_name(who), _now(), _checked_note(note), supersedes)
    if supersedes:
        _check_replaceable(study, supersedes)
    beside = {name: file_digest(content) for name, content in (files or {}).items()}
    facts = sealed({"record": dict(record), "files": beside, "counted": True})
    first = _event_content(event, file_digest(facts))
    contents = {**(files or {}), FACTS: facts, event_name(1): first, STEPS: steps_content(1, first)}
    key = f"{datetime.now(UTC):%Y%m%d}-{uuid.uuid4().hex[:8]}"
    aside = temporary_beside(study.path / FOLDER / key)
    try:
        for name, content in contents.items():
            if Path(name).name != name or name.startswith(".") or name in {FACTS, STEPS} & beside.keys():
                raise PruneScopeError(f"{name!r} cannot be the name of a decision's file.")
            write_file(aside / name, content)
        if not publish(aside, study.path / FOLDER / key):
            raise PruneScopeError(f"There is a decision {key} already; propose it again.")
    except BaseException:
        remove_folder(aside)
        raise
    return key


def approve(study: Study, key: str, who: str, note: str = "") -> Decision:
    """The decision, approved by somebody other than who proposed it; what it supersedes is so from now on."""
    name, decision = _signed_name(who), read_decision(study, key)
    if _same(name, decision.events[0].who):
        raise PruneScopeError(f"{name} proposed this decision; somebody else has to approve it.")
    if decision.supersedes:
        _check_replaceable(study, decision.supersedes)
    return _add(study, decision, Event(APPROVED, name, _now(), _checked_note(note)))


def withdraw(study: Study, key: str, who: str, note: str) -> Decision:
    """The decision, withdrawn for a reason."""
    if not note.strip():
        raise PruneScopeError("Say why the decision is withdrawn; the reason is kept with it.")
    event = Event(WITHDRAWN, _signed_name(who), _now(), _checked_note(note))
    return _add(study, read_decision(study, key), event)


def read_decision(study: Study, key: str) -> Decision:
    """One decision; refused where there is none of this id, or where it is not what was written."""
    if not ID.fullmatch(key) or not (study.path / FOLDER / key).is_dir():
        raise PruneScopeError(f"There is no decision {key!r} in {study.path.name}.")
    found = {one.id: one for one in read_decisions(study)}
    if key in found:
        return found[key]
    _read(study.path / FOLDER / key)  # says what is wrong
    raise PruneScopeError(f"The decision {key} has just been changed; look again.")


def read_decisions(study: Study) -> list[Decision]:
    """All decisions that can be read, the latest first."""
    decisions: dict[str, Decision] = {}
    for folder in _folders(study):
        try:
            decisions[folder.name] = _read(folder)
        except PruneScopeError:
            continue
    by = {one.supersedes: one.id for one in decisions.values() if one.supersedes and one.approval is not None}
    linked = [replace(one, superseded_by=by.get(one.id, "")) for one in decisions.values()]
    return sorted(linked, key=lambda one: (one.events[0].time, one.id), reverse=True)


def decision_file(study: Study, key: str, name: str) -> bytes:
    """Content of a file that lies beside a decision's record, refused where it is not what was written."""
    decision = read_decision(study, key)
    if name not in decision.files:
        raise PruneScopeError(f"The decision {key} has no file {name!r}.")
    return _checked_file(study.path / FOLDER / key / name, decision.files[name])


def broken_decisions(study: Study) -> list[tuple[str, str]]:
    """Decisions that are not what was written, by their path in the study, each with the reason."""
    broken = []
    for folder in _folders(study):
        try:
            for name, digest in _read(folder).files.items():
                _checked_file(folder / name, digest)
        except PruneScopeError as error:
            broken.append((f"{FOLDER}/{folder.name}", str(error)))
    return broken


def _signed_name(who: str) -> str:
    """The name that a step is taken under: what somebody types, but where people sign in theirs and no other."""
    person = check_may_write("decisions")
    return checked_name(person if access_mode() == SIGN_IN else who)


def _checked_file(path: Path, digest: str) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise PruneScopeError(f"The decision {path.parent.name} is damaged: {path.name} cannot be read.") from error
    if file_digest(content) != digest:
        raise PruneScopeError(f"The decision {path.parent.name} is damaged: {path.name} is not what was written.")
    return content


def checked_name(who: str) -> str:
    """A person's name as it is kept; refused where it is empty, too long or no text."""
    name = " ".join(unicodedata.normalize("NFC", who).split())
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise PruneScopeError(f"The name is {who[:120]!r}; it should be 1 to {LONGEST_NAME} letters.")
    return name


def _add(study: Study, decision: Decision, event: Event) -> Decision:
    """The decision with one more event; refused where it may not follow, or where somebody was faster."""
    if decision.superseded_by:
        raise PruneScopeError(f"The decision {decision.id} was superseded by {decision.superseded_by}.")
    if event.action not in (allowed := FOLLOWS.get(decision.status, ())):
        rule = f"it can only be {' or '.join(allowed)}" if allowed else "nothing can follow; propose a new one"
        raise PruneScopeError(f"The decision {decision.id} is {decision.status}: {rule}.")
    folder, n = study.path / FOLDER / decision.id, len(decision.events)
    try:
        before = file_digest((folder / event_name(n)).read_bytes())
        write_file(folder / event_name(n + 1), _event_content(event, before), replace=False)
    except FileExistsError as error:
        raise PruneScopeError(f"Somebody else has just changed the decision {decision.id}; look again.") from error
    count_steps(folder)
    return read_decision(study, decision.id)


def _check_replaceable(study: Study, key: str) -> None:
    old = read_decision(study, key)
    if old.status != APPROVED:
        raise PruneScopeError(f"The decision {key} is {old.status}; only one that is approved can be superseded.")


def _read(folder: Path) -> Decision:
    """A decision as its files say, by itself; refused where a file is missing, changed or out of order."""
    try:
        facts = (folder / FACTS).read_bytes()
        known = unsealed(facts)
        names = event_names(folder)
        if not names or names != [event_name(n) for n in range(1, len(names) + 1)]:
            raise ValueError("a step of its history is missing")
        events, digests, before = [], [], file_digest(facts)
        for name in names:
            content = (folder / name).read_bytes()
            values = unsealed(content)
            if values["previous"] != before:
                raise ValueError(f"{name} does not follow what stands before it")
            events.append(Event(*(str(values[field]) for field in ("action", "who", "time", "note", "supersedes"))))
            before = file_digest(content)
            digests.append(before)
        _check_history(events)
        if known.get("counted"):
            check_steps(folder, digests)
        record, files = known["record"], known["files"]
        if not isinstance(record, dict) or not isinstance(files, dict) or any(Path(n).name != n for n in files):
            raise ValueError("its record holds no facts by name")
        return Decision(folder.name, record, tuple(events), files)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise PruneScopeError(f"The decision {folder.name} is damaged: {error}.") from error


def _check_history(events: list[Event]) -> None:
    """Raise ValueError where the events are none that were written here."""
    if events[0].action != PROPOSED:
        raise ValueError(f"it begins with {events[0].action!r}, not with a proposal")
    for before, after in zip(events, events[1:], strict=False):
        if after.action not in FOLLOWS.get(before.action, ()):
            raise ValueError(f"{after.action!r} follows {before.action!r}")
        if after.action == APPROVED and _same(after.who, events[0].who):
            raise ValueError("it was approved by who proposed it")


def _event_content(event: Event, previous: str) -> bytes:
    facts = {name: getattr(event, name) for name in ("action", "who", "time", "note", "supersedes")}
    return sealed({**facts, "previous": previous})


def _checked_note(note: str) -> str:
    if len(note) > LONGEST_NOTE:
        raise PruneScopeError(f"The note has {len(note):,} letters; at most {LONGEST_NOTE:,} are kept.")
    return note.strip()


def _same(one: str, other: str) -> bool:
    """Whether two names are one person's, however they are written."""
    return _plain(one) == _plain(other)


def _plain(name: str) -> str:
    return "".join(unicodedata.normalize("NFKC", name).casefold().split())


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _folders(study: Study) -> list[Path]:
    folder = study.path / FOLDER
    return sorted(path for path in folder.iterdir() if ID.fullmatch(path.name)) if folder.is_dir() else []
