"""The picture "Who pays?": what the browser gets to draw it, and the words around it."""

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from PIL import Image

from engine.analysis.columns import CLASS, VARIANT
from engine.analysis.curves.flag_picks import largest_loss, sparsest_flag
from engine.analysis.example_columns import FEW_GROUPS
from engine.analysis.members.accuracy import ROUNDING
from engine.analysis.members.permutation import PayLine, n_paying
from engine.errors import PruneScopeError
from engine.store.images import images_name
from pages.shared import formats
from pages.shared.cache.catalog import Experiment, Source, example_set, examples, spec
from pages.shared.cache.images import carried_images
from pages.shared.cache.who_pays import OneModel, WhoPays, line_of, payers
from pages.shared.names import GROUP_NAMES, Variant, baseline_name, variant_name

HERE = Path(__file__).parent
GONE = 0.10
"""Whoever loses this much, or three times what counts as paying, is all but gone, and a bar at its end."""
MOST_BARS = 20
SIDE, ACROSS = 28, 20
"""Pixels of a thumbnail, and how many stand beside each other in the sheet."""


@dataclass(frozen=True, eq=False)
class Hero:
    """Who pays under one model, and the level at which the picture comes to rest: its place among the levels."""

    pays: WhoPays
    variant: Variant
    stop: int
    line: PayLine
    """The loss from which on a party pays."""

    @property
    def tiled(self) -> bool:
        """Whether the parties are members, a tile each, and not a few groups or classes."""
        return len(self.pays.parties) > FEW_GROUPS and self.pays.column != CLASS

    @property
    def n_paying(self) -> int:
        """How many pay where the picture rests."""
        return int(n_paying(self.pays.losses[self.stop], self.line.loss))

    @property
    def word(self) -> tuple[str, str]:
        """What a party is called: one, and several."""
        if self.pays.column == CLASS:
            return "class", "classes"
        name = self.pays.column.replace("_", " ")
        return (name, f"{name}s") if len(self.pays.parties) > FEW_GROUPS else (name, "groups")


def find_hero(flags: pd.DataFrame, source: Source, experiment: Experiment, baseline: str) -> Hero | None:
    """The model with the surest loss behind a kept accuracy, else the first; None where nothing can be compared."""
    row = _row(flags)
    if row is None:
        return None
    variant = (str(row["technique"]), str(row["treatment"]), str(row["mitigation"]))
    model = OneModel(source, experiment, variant, baseline)
    found = payers(model)
    if found is None:
        return None
    level = None if pd.isna(row["level"]) else int(row["level"])
    least = 1 + int(np.argmin(found.total_losses[1:]))
    stop = found.levels.index(level) if level in found.levels else least
    return Hero(found, variant, stop, line_of(model, found.column, found.levels[stop]))


def _row(flags: pd.DataFrame) -> pd.Series | None:
    """The flag that the picture is of."""
    if flags.empty:
        return None
    surest = largest_loss(flags)
    sparsest = sparsest_flag(flags)
    return surest[0] if surest is not None else flags.iloc[0] if sparsest is None else sparsest


# -- what the browser draws -------------------------------------------------------------------------------------------


def payload(hero: Hero | None, source: Source, experiment: Experiment) -> dict[str, Any] | None:
    """All that the picture needs: names, losses in hundredths of a point, texts, a sheet of thumbnails if any."""
    if hero is None:
        return None
    pays, order = hero.pays, _order(hero)
    images = _thumbnails(hero, source, experiment, order) if hero.tiled else None
    gone = max(GONE, 3 * hero.line.loss)
    sheet, grey = images if images is not None else ("", True)
    # Rounded down, so that only who loses as much as the line is drawn as paying.
    losses = np.floor(10_000 * (pays.losses[:, order].T + ROUNDING)).astype(int)
    content = {
        "look": "tiles" if hero.tiled else "bars",
        "parties": [pays.parties[place] for place in order],
        "losses": losses.tolist(),
        "total_losses": np.rint(10_000 * pays.total_losses).astype(int).tolist(),
        "total": [formats.percent(value) for value in pays.total],
        "sparsity": [formats.sparsity(value) for value in pays.sparsity],
        "stop": hero.stop,
        "pays": round(10_000 * hero.line.loss),
        "gone": round(10_000 * (gone if hero.tiled else max(gone, 1.25 * float(pays.losses[hero.stop].max())))),
        "sprite": sheet,
        "grey": grey,
        "side": SIDE,
        "across": ACROSS,
        "words": _words(hero, bool(sheet), len(order)),
    }
    return content | {"id": hashlib.sha256(repr(content).encode()).hexdigest()[:12]}


def _order(hero: Hero) -> list[int]:
    """Places of the parties, who loses most where the picture rests first; of many bars only the first are drawn."""
    order: list[int] = np.argsort(-hero.pays.losses[hero.stop], kind="stable").tolist()
    return order if hero.tiled else order[:MOST_BARS]


def _thumbnails(hero: Hero, source: Source, experiment: Experiment, order: list[int]) -> tuple[str, bool] | None:
    """A picture of every party, as one sheet in a data address, and whether it is ink alone; None without images."""
    images = _images(source, experiment)
    return None if images is None else sheet_of(images[hero.pays.exemplars[order]])


def member_sheet(hero: Hero, source: Source, experiment: Experiment, member: str) -> tuple[str, tuple[int, int]] | None:
    """The first images of a member in a row, and the row's width and height; None without images."""
    images = _images(source, experiment)
    if images is None:
        return None
    table = examples(source, example_set(source, experiment))
    mine = np.flatnonzero(table[hero.pays.column].astype(str) == member)[:ACROSS]
    return sheet_of(images[mine])[0], (SIDE * ACROSS, SIDE)


def _images(source: Source, experiment: Experiment) -> np.ndarray | None:
    """The images that the study carries, where they are those of the examples that were tested."""
    settings = spec(source, experiment)
    try:
        carried = carried_images(source, images_name(settings.dataset, settings.split))
    except PruneScopeError:
        return None
    labels = examples(source, example_set(source, experiment))["label"].to_numpy()
    return carried[0] if carried is not None and np.array_equal(carried[1], labels) else None


def sheet_of(images: np.ndarray) -> tuple[str, bool]:
    """Images, uint8 (n, channels, height, width), as one PNG in a data address; grey ones are ink on nothing."""
    grey = images.shape[1] == 1
    sheet = Image.new("LA" if grey else "RGB", (SIDE * ACROSS, SIDE * -(-len(images) // ACROSS)))
    for place, pixels in enumerate(images):
        shown = Image.fromarray(np.ascontiguousarray(pixels[0] if grey else np.moveaxis(pixels, 0, -1)))
        shown = shown.resize((SIDE, SIDE)) if shown.size != (SIDE, SIDE) else shown
        tile = Image.merge("LA", (Image.new("L", shown.size), shown)) if grey else shown
        sheet.paste(tile, (SIDE * (place % ACROSS), SIDE * (place // ACROSS)))
    buffer = BytesIO()
    sheet.save(buffer, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}", grey


# -- words ------------------------------------------------------------------------------------------------------------


def chance_sentence(hero: Hero) -> str:
    """How many pay, beside how many would if it did not matter who they are, and where the line comes from."""
    (one, several), line = hero.word, hero.line
    if line.reason:
        return f"How many {several} would lose as much by chance cannot be said: {line.reason}."
    n_all, n = len(hero.pays.parties), hero.n_paying
    low, high = formats.count(line.low), formats.count(line.high)
    by_chance = low if low == high else f"{low} to {high}"
    dealt = "examples" if hero.pays.column == CLASS else "examples of one class"
    told = "That is more than chance explains." if n > line.high else "Chance explains that."
    return (
        f"{formats.count(n)} of {formats.count(n_all)} {several} {'loses' if n == 1 else 'lose'} "
        f"{formats.from_points_on(line.loss)}; by chance alone {by_chance} would. {told} The line is drawn where 99 of "
        f"100 would lose less if it did not matter which {one} an example is from ({formats.count(line.n_draws)} "
        f"times, {dealt} change hands at random); it is rounded up to half a point, and is 1 point at least."
    )


def finding(hero: Hero) -> str:
    """What the picture shows where it rests, in a sentence; plain text."""
    pays, several = hero.pays, hero.word[1]
    losses = pays.losses[hero.stop]
    worst, n = int(losses.argmax()), hero.n_paying
    total = float(pays.total_losses[hero.stop])
    moved = f"loses {formats.points_in_words(total)}" if total > 0 else f"gains {formats.points_in_words(total)}"
    return (
        f"At {formats.sparsity(pays.sparsity[hero.stop])} sparsity the total {moved}; {n} of {len(losses)} {several} "
        f"{'loses' if n == 1 else 'lose'} {formats.from_points_on(hero.line.loss)}, and {party_name(hero, worst)} "
        f"loses most: {formats.points_in_words(max(losses[worst], 0.0))}."
    )


def party_name(hero: Hero, place: int) -> str:
    """A party in a sentence: "writer 2249", "class 9", "students (hsf4)"."""
    name = hero.pays.parties[place]
    return name if name in GROUP_NAMES.get(hero.pays.column, {}).values() else f"{hero.word[0]} {name}"


def _words(hero: Hero, pictured: bool, n_drawn: int) -> dict[str, str]:
    pays, (one, several) = hero.pays, hero.word
    pay = formats.from_points_on(hero.line.loss)
    model = variant_name(dict(zip(VARIANT, hero.variant, strict=True)))
    handwriting = pictured and one == "writer"
    what = "Each tile is a writer, in their own hand" if handwriting else f"Each dot is a {one}"
    fades = f"{what}. It fades as they lose accuracy; a frame marks a loss of {pay}."
    bars = f"Points of accuracy lost by each {one}; orange: {pay}."
    left_out = len(pays.parties) + pays.n_left_out - n_drawn
    more = f" {formats.count(left_out)} more {several} are not drawn." if left_out else ""
    against = f" Compared with {baseline_name(pays.kind)}, average of {formats.seeds(pays.n_seeds)}."
    luck = " Some of it is luck: few examples stand behind each." if hero.tiled else ""
    return {
        "alt": finding(hero),
        "total": "all together",
        "change": "{change}",
        "points": "pt",
        "party": one,
        "one": f"of {{of}} {several} loses {pay}",
        "several": f"of {{of}} {several} lose {pay}",
        "cut": f"{{sparsity}} of the weights cut: {model}",
        "spoken": f"{{sparsity}} of the weights cut: accuracy {{total}}, {{n}} of {{of}} {several} lose {pay}",
        "slider": "Share of the weights that is cut",
        "first": "no cut",
        "last": f"{formats.sparsity(pays.sparsity[-1])} cut",
        "play": "Play",
        "pause": "Pause",
        "caption": f"{fades if hero.tiled else bars}{luck}{more}{against}",
    }


def ways_on(hero: Hero | None) -> list[tuple[str, str, str, str]]:
    """Where to go from the picture: file, label, icon and help of each button."""
    who = "pages/class_curves.py"
    if hero is not None and hero.pays.column != CLASS:
        who = "pages/writers.py" if len(hero.pays.parties) > FEW_GROUPS else "pages/subgroups.py"
    return [
        (who, "See who pays", ":material/groups:", "Everybody's loss, one by one."),
        ("pages/frontier.py", "Choose a model", ":material/stacked_line_chart:", "The network to ship."),
    ]


# -- the component ----------------------------------------------------------------------------------------------------


def source_of(kind: str) -> str:
    """The picture's own HTML, CSS or JavaScript."""
    return (HERE / f"hero.{kind}").read_text(encoding="utf-8")


def draw_hero(content: dict[str, Any] | None) -> None:
    """The picture on the page, where there is one; it never asks for a rerun."""
    if content is None:
        return
    _component()(data=content, key="who-pays")


@cache
def _component() -> Any:
    return st.components.v2.component(
        "prunescope_who_pays", html=source_of("html"), css=source_of("css"), js=source_of("js")
    )
