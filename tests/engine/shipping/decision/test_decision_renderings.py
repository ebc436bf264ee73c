"""A decision record in all its renderings: facts by a schema, cards by theirs, a page that escapes all it is given."""

import json
from html.parser import HTMLParser
from xml.etree import ElementTree

import jsonschema
import msgspec
import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from jinja2 import UndefinedError
from markupsafe import escape

from engine.errors import PruneScopeError
from engine.shipping.decision.annex import SILENT, annex_headings
from engine.shipping.decision.decision_cards import decision_bill, decision_card
from engine.shipping.decision.decision_charts import frontier_picture, group_picture
from engine.shipping.decision.decision_facts import record_from, record_json, record_schema, record_values
from engine.shipping.decision.decision_page import TEMPLATES, record_html
from engine.shipping.decision.decision_words import clipped, rule_text, stakeholder_text
from engine.shipping.decision.svg import Axis, steps
from engine.store.records.decisions import Decision, Event
from tests.support.decision_records import HOSTILE, made_record

RECORDS = {"usual": made_record(), "hostile": made_record(HOSTILE), "long": made_record("word " * 60, 62, 40)}
EVENTS = (
    Event("proposed", "Ada <b>", "2026-11-18T08:00:00+00:00", "note & more", "20260101-0123abcd"),
    Event("approved", "Grace", "2026-11-19T08:00:00+00:00"),
)
DECISION = Decision("20261118-0123abcd", {}, EVENTS, {})


@pytest.fixture(params=RECORDS)
def record(request: pytest.FixtureRequest):
    return RECORDS[request.param]


class Tags(HTMLParser):
    """Tags and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_json_keeps_to_its_schema_and_comes_back(record) -> None:
    values = json.loads(record_json(record))
    jsonschema.Draft202012Validator(record_schema()).validate(values)
    assert record_from(record_json(record)) == record == record_from(record_values(record))
    for broken in ({**values, "version": 1}, {**values, "more": 1}, {**values, "ships": None}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(record_schema()).validate(broken)
        with pytest.raises(PruneScopeError, match="no decision record of version 2"):
            record_from(broken)


@pytest.mark.parametrize("decision", [None, DECISION])
def test_bill_fits_cyclonedx_and_card_has_a_model_index(record, decision) -> None:
    bill = decision_bill(record, decision)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill) is None
    model = json.loads(bill)["components"][0]
    said = {row["name"]: row["value"] for row in model["properties"]}
    assert said["prunescope:status"] == ("approved" if decision else "not proposed yet")
    assert said["prunescope:study-sha256"] == "a" * 64 and said["prunescope:seed"] == "3"
    assert len(model["modelCard"]["quantitativeAnalysis"]["performanceMetrics"]) == 3 + len(record.groups)
    card = decision_card(record, decision)
    index = json.loads(card.split("model-index: ")[1].splitlines()[0])
    assert index[0]["results"][0]["metrics"][1]["value"] == 0.961
    assert "<script>" not in card.split("---\n")[2]


def test_every_heading_of_annex_iv_is_there() -> None:
    rows = annex_headings(RECORDS["usual"], DECISION)
    assert [row.point for row in rows] == list("123456789")
    assert {row.point for row in rows if row.text == SILENT} == {"5", "7", "8", "9"}
    assert "approved by Grace" in rows[5].text and "0123456789ab" in rows[0].text


def test_page_says_who_signed_and_what_was_not_checked() -> None:
    words = " ".join("".join(Tags(record_html(RECORDS["usual"], DECISION)).words).split())
    for part in ("Close call:", "approved", "Ada <b>", "Grace", "2026-11-19", "note & more", "Runner-up", "a" * 64):
        assert part in words
    assert "supersedes 20260101-0123abcd" in words and "96.1 % (95.8 % to 96.4 %)" in words
    assert "Run 0123456789ab, seed 3, level 8" in words and "252 other networks" in words
    draft = "".join(Tags(record_html(RECORDS["usual"])).words)
    assert "not proposed yet" in draft and "Grace" not in draft


def test_two_stakeholders_stand_in_every_rendering() -> None:
    record = RECORDS["usual"]
    said = stakeholder_text(record)
    assert said.startswith("Two stakeholders: weight 10 would ship Global magnitude, rewind, level 8 (83.2 % sparsity,")
    assert "Compromise: Global magnitude, rewind, level 5 (" in said and "costs them 47 % and 28 % of what" in said
    page = " ".join("".join(Tags(record_html(record)).words).split())
    first, appendix = page.split("Appendix")
    assert stakeholder_text(record, with_numbers=False) in first and said in appendix
    assert "level 5" in decision_card(record, None).split("## How it was chosen")[1].split("##")[0]
    model = json.loads(decision_bill(record, None))["components"][0]["modelCard"]
    assert said in model["considerations"]["performanceTradeoffs"]
    assert said in annex_headings(record, None)[3].text
    agreed = msgspec.structs.replace(record.stakeholders, agree=True, compromise=None)
    assert "would both ship" in stakeholder_text(msgspec.structs.replace(record, stakeholders=agreed))
    apart = msgspec.structs.replace(record.stakeholders, compromise=None)
    assert "No network between" in stakeholder_text(msgspec.structs.replace(record, stakeholders=apart))
    alone = msgspec.structs.replace(record, stakeholders=None)
    assert stakeholder_text(alone) == "" and "Two stakeholders" not in "".join(Tags(record_html(alone)).words)


def test_a_record_from_before_stakeholders_were_kept_is_read() -> None:
    values = record_values(RECORDS["usual"])
    del values["stakeholders"], values["rule"]["risk"]
    assert record_from(values).stakeholders is None


def test_rule_says_fair_between_floors_price_and_risk() -> None:
    record = RECORDS["usual"]
    text = rule_text(record)
    assert "1 point of gap is worth 10 points" in text and "between global magnitude" in text
    assert "Floors: Accuracy at least 95.0 %; No group loses more than 5.0 points." in text

    def ruled(**values: object) -> str:
        return rule_text(msgspec.structs.replace(record, rule=msgspec.structs.replace(record.rule, **values)))

    assert "a risk of 10 %" in ruled(name="promise", risk=0.1) and "surely" in ruled(name="promise")
    assert "none beats in sparsity, fairness and accuracy" in ruled(name="three objectives")
    chart = msgspec.structs.replace(record.chart, unfairness_in_points=False)
    assert "0.01 of unfairness is worth" in rule_text(msgspec.structs.replace(record, chart=chart))


def test_page_escapes_every_value_runs_none_and_needs_nothing() -> None:
    record = made_record(HOSTILE)
    text = record_html(record, DECISION)
    page = Tags(text)
    assert not {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe", "base", "b>", "object", "embed"}
    assert not [values for _, values in page.tags if values.get("src")]
    assert [values["href"] for tag, values in page.tags if tag == "a"] == [record.origin.link]
    assert HOSTILE not in text and "49" not in "".join(page.words).replace("0.49", "")
    assert escape(HOSTILE) in text


def test_template_refuses_a_value_that_is_missing() -> None:
    with pytest.raises(UndefinedError):
        TEMPLATES.get_template("decision_page.html.j2").render()


def test_pictures_are_small_whole_and_inside_their_frame(record) -> None:
    pictures = [frontier_picture(record), group_picture(record)]
    assert sum(len(one.encode()) for one in pictures) < 500_000
    for one in pictures:
        root = ElementTree.fromstring(one)
        for mark in root.iter("{http://www.w3.org/2000/svg}circle"):
            assert 0 <= float(mark.attrib["cx"]) <= 360 and 0 <= float(mark.attrib["cy"]) <= 145
    assert sum(tag.endswith("polygon") for tag in (e.tag for e in ElementTree.fromstring(pictures[0]).iter())) == 1
    empty = msgspec.structs.replace(record, groups=[], payers=[], no_groups="none are named")
    ElementTree.fromstring(group_picture(empty))
    assert "none are named" in record_html(empty)


def test_axis_and_its_steps() -> None:
    assert Axis(0, 1, 10, 110).at(0.5) == 60 and Axis(0, 1, 10, 110).at(7) == 110
    assert Axis(0, -2, 0, 100).at(-1) == 50 and Axis(0, -2, 0, 100).at(1) == 0
    assert steps(0, 1) == [0, 0.2, 0.4, 0.6, 0.8, 1.0] and steps(0.91, 0.99) == [0.92, 0.94, 0.96, 0.98]
    assert clipped("a few words here", 10) == "a few …" and clipped("x" * 50, 10) == "xxxxxxxx …"
