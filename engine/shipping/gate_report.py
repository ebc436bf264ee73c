"""What a gate found, for people and for machines: sentences, Markdown, JUnit and JSON."""

import json
import math
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from engine.analysis.gate.judge import overall
from engine.analysis.gate.rules import AT_MOST, FAIL, PASS, UNSURE, Finding, Rule

EXIT = {PASS: 0, FAIL: 1, UNSURE: 3}
"""What the command ends with; 2 is input that cannot be used."""


def rule_words(rule: Rule) -> str:
    """The rule in words, such as "largest loss of a group (region) at most 5.0 points"."""
    about = f" ({' x '.join(rule.between)})" if rule.row.needs_groups else ""
    side = "at most" if rule.row.side == AT_MOST else "at least"
    return f"{rule.row.label}{about} {side} {_amount(rule, rule.limit)}"


def finding_words(finding: Finding) -> str:
    """What became of the rule, and by which numbers."""
    rule, bounds = finding.rule, finding.bounds
    if math.isnan(bounds.value):
        return finding.reason
    words = _amount(rule, bounds.value)
    if rule.row.is_share:
        words += f" ({_amount(rule, bounds.low)} to {_amount(rule, bounds.high)})"
    if bounds.group:
        words += f", {bounds.group}"
    if bounds.n:
        words += f", n = {bounds.n:,}"
    if finding.n_needed:
        words += f"; about {finding.n_needed:,} {finding.unit_needed} would settle it"
    return words + (f"; {finding.reason}" if finding.reason else "")


def as_markdown(findings: Sequence[Finding], title: str) -> str:
    """A summary for a pull request."""
    rows = [
        f"| {_cell(finding.outcome)} | {_cell(rule_words(finding.rule))} | {_cell(finding_words(finding))} |"
        for finding in findings
    ]
    head = [f"### Gate: {overall(findings)}", "", _cell(title), "", "| | Rule | Found |", "| --- | --- | --- |"]
    return "\n".join([*head, *rows, ""])


def as_json(findings: Sequence[Finding], title: str) -> str:
    """Everything, for a program."""
    facts = {"gate": overall(findings), "candidate": title, "rules": [_facts(finding) for finding in findings]}
    return json.dumps(facts, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def as_junit(findings: Sequence[Finding], title: str) -> str:
    """One test case per rule; what cannot be told is an error, not a failure."""
    counts = {name: str(sum(f.outcome == name for f in findings)) for name in (FAIL, UNSURE)}
    suite = ElementTree.Element(
        "testsuite", name="prunescope gate", tests=str(len(findings)), failures=counts[FAIL], errors=counts[UNSURE]
    )
    for finding in findings:
        case = ElementTree.SubElement(suite, "testcase", classname=_plain(title), name=_plain(rule_words(finding.rule)))
        if finding.outcome != PASS:
            kind = "failure" if finding.outcome == FAIL else "error"
            ElementTree.SubElement(case, kind, message=_plain(finding_words(finding)))
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _facts(finding: Finding) -> dict[str, Any]:
    rule, bounds = finding.rule, finding.bounds
    numbers = {name: getattr(bounds, name) for name in ("value", "low", "high")}
    return {
        "measure": rule.measure,
        rule.row.side: rule.limit,
        "between": list(rule.between) if rule.row.needs_groups else [],
        "effect": rule.effect,
        "outcome": finding.outcome,
        **{name: None if math.isnan(number) else number for name, number in numbers.items()},
        "group": bounds.group,
        "n": bounds.n,
        "n_needed": finding.n_needed,
        "unit_needed": finding.unit_needed,
        "reason": finding.reason,
    }


def _amount(rule: Rule, value: float) -> str:
    if not rule.row.is_share:
        return f"{value:,.6g} {rule.row.unit}".rstrip()
    is_difference = rule.row.side == AT_MOST
    return f"{100 * value:.1f} points" if is_difference else f"{100 * value:.1f} %"


def _cell(text: str) -> str:
    """Text that ends no cell of a table and starts no markup."""
    return "".join(f"\\{letter}" if letter in "|<>[]`*_\\" else letter for letter in _plain(text))


def _plain(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)
