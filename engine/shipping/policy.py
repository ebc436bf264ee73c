"""A policy as a TOML file: read with every mistake named, and written from rules."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.analysis.columns import CLASS
from engine.analysis.gate.rules import AT_LEAST, AT_MOST, MEASURES, Policy, Rule
from engine.errors import PruneScopeError, unknown_name

_TOP = ("confidence", "effect", "rule")
_OF_RULE = ("measure", AT_LEAST, AT_MOST, "between", "effect", "least")


def read_policy(path: str | Path) -> Policy:
    """The policy in a file."""
    path = Path(path)
    if not path.is_file():
        raise PruneScopeError(f"There is no policy {path}.")
    try:
        return policy_from(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PruneScopeError(f"{path} is no TOML file: {error}.") from error


def policy_from(facts: Mapping[str, Any]) -> Policy:
    """The policy that a TOML file holds."""
    for name in facts:
        if name not in _TOP:
            raise unknown_name(name, _TOP, "setting of a policy")
    rules = facts.get("rule", [])
    if not isinstance(rules, list) or not rules or not all(isinstance(rule, dict) for rule in rules):
        raise PruneScopeError("A policy needs at least one [[rule]].")
    effect = _number("effect", facts.get("effect", 0.01), 0, 1)
    confidence = _number("confidence", facts.get("confidence", 0.95), 0.5, 0.9999)
    return Policy(tuple(_rule(rule, number, effect) for number, rule in enumerate(rules, 1)), confidence)


FLOOR_RULES = {
    "accuracy": "accuracy",
    "lowest": "group_accuracy",
    "loss": "group_loss",
    "bytes": "bytes",
    "macs": "macs",
    "milliseconds": "latency_ms",
}
"""Floors of the Frontier and the measures of a policy that ask the same."""


def floors_policy(limits: Mapping[str, float], columns: Sequence[str]) -> Policy:
    """The policy that asks what these floors ask, of groups by these columns, but for floors that no rule knows."""
    rules = [Rule(FLOOR_RULES[name], limit, tuple(columns)) for name, limit in limits.items() if name in FLOOR_RULES]
    return Policy(tuple(rules))


def policy_text(policy: Policy) -> str:
    """The policy as the TOML file that `read_policy` reads back."""
    parts = [f"confidence = {policy.confidence!r}"]
    for rule in policy.rules:
        lines = ["[[rule]]", f'measure = "{rule.measure}"', f"{rule.row.side} = {rule.limit!r}"]
        if rule.row.needs_groups:
            lines += [f"between = [{', '.join(_quoted(name) for name in rule.between)}]", f"least = {rule.least}"]
        if rule.row.is_share:
            lines.append(f"effect = {rule.effect!r}")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _rule(facts: Mapping[str, Any], number: int, effect: float) -> Rule:
    for name in facts:
        if name not in _OF_RULE:
            raise unknown_name(name, _OF_RULE, f"setting of rule {number}")
    measure = facts.get("measure", "")
    if measure not in MEASURES:
        raise unknown_name(str(measure), MEASURES, f"measure (rule {number})")
    row = MEASURES[measure]
    if row.side not in facts or len({AT_LEAST, AT_MOST} & set(facts)) != 1:
        given = ", ".join(sorted({AT_LEAST, AT_MOST} & set(facts))) or "neither"
        raise PruneScopeError(f"Rule {number} on {measure} has {given}; it needs {row.side}, and only that.")
    if "between" in facts and not row.needs_groups:
        raise PruneScopeError(f"Rule {number} on {measure} is about no groups; leave out between.")
    highest = 1.0 if row.is_share else float("inf")
    where = f" of rule {number}"
    return Rule(
        measure,
        _number(f"{row.side}{where}", facts[row.side], -1.0 if row.is_share and row.needs_baseline else 0.0, highest),
        _between(facts.get("between", CLASS), number),
        _number(f"effect{where}", facts.get("effect", effect), 0, 1),
        int(_number(f"least{where}", facts.get("least", 20), 1, 1e9)),
    )


def _between(names: object, number: int) -> tuple[str, ...]:
    columns = (names,) if isinstance(names, str) else tuple(names) if isinstance(names, list) else ()
    if not columns or not all(isinstance(column, str) and column for column in columns):
        raise PruneScopeError(f"between of rule {number} is {names!r}; it should be a column, or a list of columns.")
    return columns


def _number(name: str, value: object, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        hint = " (5 points are 0.05)" if high == 1 else ""
        raise PruneScopeError(f"{name} is {value!r}; it should be a number from {low:g} to {high:g}{hint}.")
    return float(value)


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
