"""Answers are easy to read: Flesch's reading ease of those of all pages, as textstat counts it, is 50 in the median."""

import re
from pathlib import Path
from statistics import median

import pytest

from pages.shared import formats
from pages.shared.menu import MENU
from tests.pages.conftest import OpenPage

EASE = 50
WITHOUT_STUDY = ("pages/run.py", "pages/bring.py", "pages/decisions.py")


def syllables(word: str) -> int:
    """Syllables of an English word: groups of vowels, but for a silent e at the end; numbers are read as one."""
    letters = re.sub(r"[^a-z]", "", word.lower())
    groups = len(re.findall(r"[aeiouy]+", letters))
    silent = letters.endswith(("e", "es", "ed")) and not letters.endswith(("le", "les", "ted", "ded", "ses", "ces"))
    return max(groups - (silent and groups > 1), 1)


def reading_ease(text: str) -> float:
    """206.835 - 1.015 words a sentence - 84.6 syllables a word (Flesch 1948)."""
    sentences = [part for part in re.split(r"(?<=[.!?:;])\s+", text) if re.search(r"[A-Za-z]", part)]
    words = [word for word in text.split() if re.search(r"[A-Za-z0-9]", word)]
    return 206.835 - 1.015 * len(words) / len(sentences) - 84.6 * sum(map(syllables, words)) / len(words)


@pytest.mark.parametrize(
    ("word", "n"), [("network", 2), ("pruned", 1), ("the", 1), ("table", 2), ("accuracy", 4), ("98.6", 1), ("loses", 2)]
)
def test_syllables(word: str, n: int) -> None:
    assert syllables(word) == n


def test_long_words_in_long_sentences_are_harder() -> None:
    assert reading_ease("The cat sat on the mat.") > 100
    hard = "Heterogeneous compression methodologies exhibit considerable distributional intensification phenomena."
    assert (
        reading_ease(hard) < 0 < EASE < reading_ease("Cutting most of the weights costs little, but some writers pay.")
    )


def test_answers_are_easy_to_read_in_the_median(open_page: OpenPage, demo_root: Path) -> None:
    eases = {}
    for entry in MENU:
        if entry.file not in WITHOUT_STUDY:
            app = open_page(entry.file, "demo", demo_root)
            nodes = [node for node in app.main if getattr(node, "key", None) == "answer"]
            for text in (formats.unmarked(part.value) for node in nodes for part in node.markdown):
                eases[entry.label, text] = reading_ease(text)
    assert len(eases) >= 8 and median(eases.values()) >= EASE, sorted(eases.items(), key=lambda item: item[1])
