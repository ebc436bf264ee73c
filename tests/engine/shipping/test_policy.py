"""Policies: what is read is what was written, and every mistake gets its sentence."""

import tomllib
from pathlib import Path

import pytest

from engine.analysis.gate.rules import MEASURES, Policy, Rule
from engine.errors import PruneScopeError
from engine.shipping.policy import floors_policy, policy_from, policy_text, read_policy

REFUSED = {
    "": "needs at least one [[rule]]",
    "rules = 1": "There is no setting of a policy 'rules'",
    "confidence = 2\n[[rule]]\nmeasure='accuracy'\nat_least=0.9": "confidence is 2; it should be a number from 0.5",
    "[[rule]]\nat_least=0.9": "There is no measure (rule 1) ''",
    "[[rule]]\nmeasure='acuracy'\nat_least=0.9": "did you mean 'accuracy'?",
    "[[rule]]\nmeasure='accuracy'": "has neither; it needs at_least",
    "[[rule]]\nmeasure='accuracy'\nat_most=0.9": "has at_most; it needs at_least",
    "[[rule]]\nmeasure='accuracy'\nat_least=95": "is 95; it should be a number from 0 to 1 (5 points are 0.05)",
    "[[rule]]\nmeasure='accuracy'\nat_least=true": "at_least of rule 1 is True",
    "[[rule]]\nmeasure='accuracy'\nat_least=0.9\nbetween='region'": "is about no groups; leave out between",
    "[[rule]]\nmeasure='gap'\nat_most=0.1\nbetween=[]": "between of rule 1 is []",
    "[[rule]]\nmeasure='gap'\nat_most=0.1\nwhere='x'": "There is no setting of rule 1 'where'",
    "[[rule]]\nmeasure='latency_ms'\nat_most=-1": "at_most of rule 1 is -1; it should be a number from 0 to inf.",
}


@pytest.mark.parametrize(("text", "sentence"), REFUSED.items())
def test_mistakes_are_named(text: str, sentence: str) -> None:
    with pytest.raises(PruneScopeError) as caught:
        policy_from(tomllib.loads(text))
    assert sentence in str(caught.value)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    limits = {name: 0.5 if row.is_share else 1200.0 for name, row in MEASURES.items()}
    rules = [Rule(name, limit) for name, limit in limits.items()]
    rules.append(Rule("gap", 0.03, ('a "b" \\ c', "class"), 0.02, 50))
    policy = Policy(tuple(rules), 0.9)
    (tmp_path / "policy.toml").write_text(policy_text(policy), encoding="utf-8")
    assert read_policy(tmp_path / "policy.toml") == policy


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(PruneScopeError, match="There is no policy"):
        read_policy(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_bytes(b"\xff= [")
    with pytest.raises(PruneScopeError, match="is no TOML file"):
        read_policy(tmp_path / "bad.toml")


def test_floors_become_the_policy_that_asks_the_same(tmp_path: Path) -> None:
    policy = floors_policy({"accuracy": 0.95, "lowest": 0.9, "loss": 0.05, "milliseconds": 2.5}, ("region", "sex"))
    assert [(rule.measure, rule.limit) for rule in policy.rules] == [
        ("accuracy", 0.95),
        ("group_accuracy", 0.9),
        ("group_loss", 0.05),
        ("latency_ms", 2.5),
    ]
    assert policy.rules[1].between == ("region", "sex")
    (tmp_path / "policy.toml").write_text(policy_text(policy), encoding="utf-8")
    assert len(read_policy(tmp_path / "policy.toml").rules) == 4
