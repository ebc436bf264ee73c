"""One member's images as pictures: tiles by class, the wrong ones framed, with what was said before and after."""

from functools import cache
from io import BytesIO

import numpy as np
import pandas as pd
from PIL import Image, ImageDraw, ImageFont

from engine.analysis.members.majority import majority, outcomes

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont

KINDS = {
    "lost": "wrong only after pruning",
    "both": "wrong before and after",
    "gained": "wrong only before",
    "right": "right before and after",
}
FRAMES = {"lost": ("#D55E00", 4), "both": ("#CC79A7", 4), "gained": ("#0072B2", 2)}
"""Colour and thickness of the frame of each kind; `both` is a double frame, so that colour never speaks alone."""

SIDE, GAP, TEXT = 42, 6, 18
"""Tile, gap between tiles and line of text below, in pixels of the page; drawn at twice that for sharp screens."""

SHARP = 2


def member_digits(labels: np.ndarray, before: np.ndarray, after: np.ndarray, names: dict[int, str]) -> pd.DataFrame:
    """One row per example of a member, in the order given: class, names of label, before, after, shares right, kind."""
    first, second = majority(before, labels), majority(after, labels)

    def named(numbers: np.ndarray) -> list[str]:
        return [names.get(int(number), str(number)) for number in numbers]

    return pd.DataFrame(
        {
            "class": labels,
            "label": named(labels),
            "before": named(first.prediction),
            "after": named(second.prediction),
            "right_before": first.right,
            "right_after": second.right,
            "kind": outcomes(first, second, labels),
        }
    )


def tile_sheet(tiles: pd.DataFrame, images: np.ndarray, columns: int, dark: bool) -> bytes:
    """A PNG of the images, uint8 (n, channels, height, width), row by row, each with its frame and what was said.

    `tiles` has a row of `member_digits` per image. What was said stands only below those with a frame.
    """
    width, height = SHARP * (SIDE + GAP), SHARP * (SIDE + TEXT + GAP)
    n_rows = max(-(-len(images) // columns), 1)
    sheet = Image.new("RGBA", (width * columns, height * n_rows), (0, 0, 0, 0))
    draw = ImageDraw.Draw(sheet)
    for number, tile in enumerate(tiles.to_dict("records")):
        left, top = number % columns * width + SHARP * GAP // 2, number // columns * height + SHARP * GAP // 2
        sheet.paste(_tile(images[number], dark), (left, top))
        _frame(draw, left, top, tile["kind"])
        if tile["kind"] in FRAMES:
            middle = (left + SHARP * SIDE / 2, top + SHARP * (SIDE + 1 + TEXT / 2))
            _arrow(draw, middle, str(tile["before"]), str(tile["after"]), "#E8ECF0" if dark else "#1B1F24")
    buffer = BytesIO()
    sheet.save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def sheet_width(columns: int) -> int:
    """Width of a sheet on the page, in pixels."""
    return columns * (SIDE + GAP)


def _tile(pixels: np.ndarray, dark: bool) -> Image.Image:
    """One image at the tile's size; grey ones as ink on paper where the page is light."""
    grey = len(pixels) == 1
    shown = (pixels[0] if dark else 255 - pixels[0]) if grey else np.moveaxis(pixels[:3], 0, -1)
    side = SHARP * SIDE
    way = Image.Resampling.BOX if max(shown.shape[:2]) <= side else Image.Resampling.LANCZOS
    return Image.fromarray(np.ascontiguousarray(shown)).convert("RGB").resize((side, side), way)


def _frame(draw: ImageDraw.ImageDraw, left: int, top: int, kind: str) -> None:
    side = SHARP * SIDE - 1
    if kind not in FRAMES:
        draw.rectangle((left, top, left + side, top + side), outline="#9AA3AD")
        return
    colour, thick = FRAMES[kind]
    rings = [(0, 3), (5, 2)] if kind == "both" else [(0, thick)]
    for inset, width in rings:
        near, far = SHARP * inset, side - SHARP * inset
        draw.rectangle((left + near, top + near, left + far, top + far), outline=colour, width=SHARP * width)


def _arrow(draw: ImageDraw.ImageDraw, middle: tuple[float, float], was: str, now: str, colour: str) -> None:
    """Before → after below a tile, each cut to its half; the arrow is drawn, since the font has none."""
    font = _font()
    x, y = middle
    shaft, gap, tip = SHARP * 5, SHARP * 2, SHARP * 3
    room = SHARP * (SIDE + GAP) / 2 - shaft - gap
    was, now = _fitting(was, room, draw, font), _fitting(now, room, draw, font)
    x += (draw.textlength(was, font) - draw.textlength(now, font)) / 2
    draw.text((x - shaft - gap, y), was, colour, font, "rm")
    draw.text((x + shaft + gap, y), now, colour, font, "lm")
    draw.line((x - shaft, y, x + shaft, y), colour, SHARP)
    draw.line((x + shaft - tip, y - tip, x + shaft, y, x + shaft - tip, y + tip), colour, SHARP)


@cache
def _font() -> Font:
    return ImageFont.load_default(13 * SHARP)


def _fitting(text: str, room: float, draw: ImageDraw.ImageDraw, font: Font) -> str:
    """The text, cut to the room in pixels."""
    if draw.textlength(text, font) <= room:
        return text
    while text and draw.textlength(f"{text}.", font) > room:
        text = text[:-1]
    return f"{text}."
