"""One example as a picture: its image, and the votes before compression and after it as bars."""

from io import BytesIO

import numpy as np
from PIL import Image, ImageDraw, ImageFont

SHARP = 2
WIDTH, SIDE, LINE = 209, 84, 22
"""Card, image and height of a class, in pixels of the page; drawn at twice that."""

LABEL, WIDE_LABEL = 40, 100
"""Room for the name of a class beside an image, and without one."""

MOST = 4
"""So many classes have bars; the others are summed up in words."""

BEFORE, COMPRESSED = "#0072B2", "#D55E00"
BEFORE_DARK = "#56B4E9"


def voted(before: np.ndarray, compressed: np.ndarray, label: int) -> list[int]:
    """Classes that get a bar: the label first, then those with most votes of either population."""
    both = np.maximum(before, compressed)
    order = [int(number) for number in np.argsort(-both, kind="stable") if both[number] > 0 and number != label]
    return [label, *order][:MOST]


def vote_card(
    image: np.ndarray | None, before: np.ndarray, compressed: np.ndarray, label: int, names: dict[int, str], dark: bool
) -> bytes:
    """A PNG: the image, uint8 (channels, height, width), if there is one; beside it bars, before above compressed.

    The true class stands first and is underlined.
    """
    shown = voted(before, compressed, label)
    height = max(SIDE if image is not None else 0, MOST * LINE)
    card = Image.new("RGBA", (SHARP * WIDTH, SHARP * height), (0, 0, 0, 0))
    draw = ImageDraw.Draw(card)
    left, room = 0, WIDE_LABEL
    if image is not None:
        card.paste(_picture(image, dark), (0, 0))
        left, room = SIDE + 10, LABEL
    ink = "#E8ECF0" if dark else "#1B1F24"
    most = max(int(before.sum()), int(compressed.sum()), 1)
    for row, number in enumerate(shown):
        top = row * LINE
        own = number == label
        name = names.get(number, str(number))
        _text(draw, (left, top + LINE / 2 - 1), name, room, ink, own)
        for place, (count, colour) in enumerate(
            ((before[number], BEFORE_DARK if dark else BEFORE), (compressed[number], COMPRESSED))
        ):
            _bar(draw, left + room, top + 2 + place * 9, WIDTH - left - room - 22, int(count), most, colour, ink)
    buffer = BytesIO()
    card.save(buffer, "PNG")
    return buffer.getvalue()


def _bar(
    draw: ImageDraw.ImageDraw, left: float, top: float, room: float, count: int, most: int, colour: str, ink: str
) -> None:
    wide = room * count / most
    if count:
        draw.rectangle([SHARP * v for v in (left, top, left + wide, top + 8)], fill=colour)
    font = ImageFont.load_default(9 * SHARP)
    draw.text((SHARP * (left + wide + 4), SHARP * (top + 4)), str(count), ink, font, "lm")


def _text(draw: ImageDraw.ImageDraw, where: tuple[float, float], text: str, room: float, ink: str, own: bool) -> None:
    """A name, cut to its room, at its left end and middle."""
    font = ImageFont.load_default(12 * SHARP)
    while len(text) > 1 and draw.textlength(text, font) > SHARP * (room - 4):
        text = f"{text[:-2]}."
    at = (SHARP * where[0], SHARP * where[1])
    draw.text(at, text, ink, font, "lm")
    if own:
        end = draw.textlength(text, font)
        draw.line((at[0], at[1] + 9 * SHARP, at[0] + end, at[1] + 9 * SHARP), ink, SHARP)


def picture_of(pixels: np.ndarray, dark: bool) -> bytes:
    """The image alone, as a PNG."""
    buffer = BytesIO()
    _picture(pixels, dark).save(buffer, "PNG")
    return buffer.getvalue()


def _picture(pixels: np.ndarray, dark: bool) -> Image.Image:
    grey = len(pixels) == 1
    shown = (pixels[0] if dark else 255 - pixels[0]) if grey else np.moveaxis(pixels[:3], 0, -1)
    side = SHARP * SIDE
    way = Image.Resampling.BOX if max(shown.shape[:2]) <= side else Image.Resampling.LANCZOS
    picture = Image.fromarray(np.ascontiguousarray(shown)).convert("RGB").resize((side, side), way)
    ImageDraw.Draw(picture).rectangle((0, 0, side - 1, side - 1), outline="#9AA3AD")
    return picture
