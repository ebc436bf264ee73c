"""A decision record printed by a real browser: one page, whatever stands on it, and an appendix."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from engine.shipping.decision.decision_page import record_html
from engine.store.records.decisions import Decision, Event
from tests.support.decision_records import HOSTILE, made_record

WHEN = "2026-11-18T08:00:00+00:00"
SIGNED = Decision(
    "20261118-0123abcd",
    {},
    (Event("proposed", "Ada Lovelace", WHEN, "for the kiosk"), Event("approved", "G" * 100, WHEN, "word " * 300)),
    {},
)
WITHDRAWN = Decision("20261118-0123abcd", {}, (*SIGNED.events, Event("withdrawn", "Ada", WHEN, "word " * 300)), {})
RECORDS = {
    "usual": (made_record(), SIGNED, 4),
    "draft": (made_record(), None, 4),
    "hostile": (made_record(HOSTILE), WITHDRAWN, 6),
    "long": (made_record("word " * 60, 62, 6), WITHDRAWN, 20),
    "one-word": (made_record("W" * 300, 62, 6), SIGNED, 30),
}


def n_pages(pdf: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf))


@pytest.mark.parametrize("name", RECORDS)
def test_it_prints_as_one_page_and_an_appendix(browser: Browser, tmp_path: Path, name: str) -> None:
    record, decision, most = RECORDS[name]
    file = tmp_path / "record.html"
    file.write_text(record_html(record, decision), encoding="utf-8")
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.goto(file.as_uri())
    whole = n_pages(page.pdf(prefer_css_page_size=True))
    page.evaluate("document.querySelector('.appendix').remove()")
    first = n_pages(page.pdf(prefer_css_page_size=True))
    context.close()
    assert first == 1
    assert 2 <= whole <= most
