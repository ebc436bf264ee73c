"""The network that somebody pinned as candidate, and a second one to compare it with: in the address and on every page.

A candidate is an operating point of one experiment of one study; elsewhere it is not shown, and comes back with it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any, Protocol, TypeVar
from zlib import crc32

import numpy as np
import streamlit as st

from pages.shared import formats
from pages.shared.cache import catalog
from pages.shared.cache.catalog import Experiment, Source
from pages.shared.cache.kept import kept
from pages.shared.names import Row, Variant, point_name, technique_at, treatment_name

FIRST, SECOND = "candidate", "rival"
KEYS = (FIRST, SECOND)
"""Their names in the address."""
MOST_LETTERS = 200
"""Of a reason; longer ones are cut."""
GAP = "max_min"
_APART = "~"

T = TypeVar("T")


class Shown(Protocol):
    """What a page works on: the study, its name, and the experiment."""

    @property
    def source(self) -> Source:
        """The study as it is now."""

    @property
    def name(self) -> str:
        """The study's name."""

    @property
    def experiment(self) -> Experiment:
        """The runs that are compared."""


@dataclass(frozen=True)
class Candidate:
    """An operating point that was pinned, by its names; its numbers are means over seeds on the test split."""

    technique: str
    treatment: str
    mitigation: str
    level: int
    reason: str
    """Why this one and not the recommended one; empty where it was recommended."""
    point: int
    """Its number among the experiment's operating points."""
    sparsity: float
    accuracy: float
    gap: float
    """Between the best and the worst class; NaN where it cannot be estimated."""
    n_seeds: int

    @property
    def variant(self) -> Variant:
        """Technique, treatment and mitigation."""
        return self.technique, self.treatment, self.mitigation

    @property
    def row(self) -> Row:
        """What names it: the columns of an operating point."""
        names = ("technique", "treatment", "mitigation", "level", "sparsity")
        return {name: getattr(self, name) for name in names}


def pinned(frame: Shown, which: str = FIRST) -> Candidate | None:
    """The candidate, or the SECOND one; None where none is pinned, or not in this experiment."""
    text = st.query_params.get(which, "")
    if not text:
        return None
    return kept(frame.source, "candidate", (frame.name, frame.experiment, text), lambda: _found(frame, text))


def pin(frame: Shown, point: Mapping[str, Any], reason: str = "", which: str = FIRST) -> None:
    """Pin an operating point, given as its row."""
    st.query_params[which] = address_text(frame, point, reason)


def unpin(which: str = FIRST) -> None:
    """Forget a candidate."""
    if which in st.query_params:
        del st.query_params[which]


def address_text(frame: Shown, point: Mapping[str, Any], reason: str = "") -> str:
    """A candidate as the address has it."""
    names = [str(point[name]) for name in ("technique", "treatment", "mitigation")]
    parts = [*names, str(int(point["level"])), _mark(frame), " ".join(reason.split())[:MOST_LETTERS]]
    return _APART.join(part.replace("%", "%25").replace(_APART, "%7E") for part in parts)


def opening_index(options: Sequence[T], wanted: T | None) -> int:
    """The place of what the candidate has among the options; the first where it has none of them."""
    return next((place for place, option in enumerate(options) if option == wanted), 0)


def opening_value(frame: Shown, column: str) -> str | None:
    """What the candidate has in a column of VARIANT, or as level; None where none is pinned."""
    one = pinned(frame)
    return None if one is None else str(one.row[column])


def opening_level(frame: Shown, levels: Iterable[int], usual: int) -> int:
    """The candidate's level where it is among these; else the usual one."""
    one = pinned(frame)
    return one.level if one is not None and one.level in levels else usual


def show_card(frame: Shown) -> None:
    """What is pinned, with a button to forget each; nothing where nothing is."""
    for which, title in ((FIRST, "Candidate"), (SECOND, "Compared with")):
        if which not in st.query_params:
            continue
        one = pinned(frame, which)
        with st.container(border=True, gap="small", key=f"{which}-card"):
            if one is None:
                st.markdown(f"**{title}**: not in this experiment.")
            else:
                st.markdown(f"**{title}**  \n{_lines(one)}")
            st.button(
                "Unpin", key=f"{which}-unpin", on_click=unpin, args=(which,), type="tertiary", icon=":material/close:"
            )


def _lines(one: Candidate) -> str:
    name = formats.plain(technique_at(one.technique, one.level))
    way = f", {formats.plain(treatment_name(one.treatment)).lower()}" if one.level else ""
    numbers = f"accuracy {formats.percent(one.accuracy)}, gap {formats.unfairness(one.gap, GAP)}"
    because = f"  \n*{formats.plain(one.reason)}*" if one.reason else ""
    return f"{name}{way}, {formats.sparsity(one.sparsity)} sparsity  \n{numbers}{because}"


def candidate_name(one: Candidate) -> str:
    """A candidate in a sentence; markdown."""
    return point_name(one.row)


def _found(frame: Shown, text: str) -> Candidate | None:
    parts = [part.replace("%7E", _APART).replace("%25", "%") for part in text.split(_APART)]
    if len(parts) != 6 or parts[4] != _mark(frame) or not parts[3].isdecimal():
        return None
    technique, treatment, mitigation, level, _, reason = parts
    points = catalog.operating(frame.source, frame.experiment)
    same = np.array(points["level"] == int(level))
    for name, value in zip(("technique", "treatment", "mitigation"), parts, strict=False):
        same &= (points[name].astype(str) == value).to_numpy()
    if not same.any():
        return None
    row = points[same].iloc[0]
    sparsity, accuracy, gap = (float(row[name]) for name in ("sparsity", "accuracy", GAP))
    point, n_seeds, because = int(row["point"]), int(row["n_seeds"]), reason[:MOST_LETTERS]
    names = (technique, treatment, mitigation, int(level))
    return Candidate(*names, because, point, sparsity, accuracy, gap, n_seeds)


def _mark(frame: Shown) -> str:
    """A short digest of study and experiment, so that a candidate of one is not taken for one of another."""
    return f"{crc32(repr((frame.name, astuple(frame.experiment))).encode()):08x}"
