"""Specs: their keys never change, their mistakes are named."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from engine.errors import PruneScopeError
from engine.run_spec import IDENTITY, SETTINGS, RunSpec, names_in, settings, spec_from_settings
from engine.specs.checks import validate_spec
from engine.specs.dense_key import dense_key
from engine.specs.mitigation import MITIGATIONS, arm_of, mitigation_settings, mitigation_words
from engine.specs.protocol import protocol

SPEC = RunSpec("digits", "lenet", "l1_structured")
DEMO = Path(__file__).parents[2] / "data" / "demo"


def another(value: object) -> object:
    return not value if isinstance(value, bool) else {int: 77, float: 0.77, str: "other", tuple: (0.1,)}[type(value)]


def test_known_keys_stay() -> None:
    """Results on disk are found by these; a change here orphans them."""
    pinned = {
        "a2719666d117": SPEC,
        "9caac99e8c36": replace(SPEC, seed=3, treatment="finetune"),
        "904a7cf5a507": replace(SPEC, split="official", epochs=2),
        "a3a2d73c1b9d": replace(SPEC, schedule="oneshot", sparsities=(0.5, 0.98), crop=4, flip=True),
    }
    assert {spec.key: spec for spec in pinned.values()} == pinned


def test_a_setting_at_its_default_does_not_change_the_key() -> None:
    assert settings(SPEC) == {"dataset": "digits", "network": "lenet", "technique": "l1_structured"}


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_changes_the_key_and_the_right_ones_the_dense_key(name: str) -> None:
    changed = replace(SPEC, **{name: "after" if name == "mitigation" else another(getattr(SPEC, name))})
    assert changed.key != SPEC.key
    assert (dense_key(changed) == dense_key(SPEC)) == (name in names_in("pruning", "mitigation", "record"))
    assert spec_from_settings(settings(changed)) == changed


def test_arms_share_the_plain_or_the_mitigated_dense_network() -> None:
    keys = {arm: dense_key(replace(SPEC, mitigation=arm)) for arm in MITIGATIONS}
    assert keys["none"] == keys["after"] == dense_key(SPEC) == "a5137a3a18fb"
    assert keys["before"] == keys["both"] == "431a76aeffe2"
    assert {arm for arm, row in MITIGATIONS.items() if row.dense} == {"before", "both"}


@pytest.mark.parametrize("name", mitigation_settings())
def test_mitigation_settings_change_the_mitigated_dense_network_only(name: str) -> None:
    for arm in MITIGATIONS:
        base = replace(SPEC, mitigation=arm)
        changed = replace(base, **{name: another(getattr(base, name))})
        assert (dense_key(changed) == dense_key(base)) == (not MITIGATIONS[arm].dense)
        assert (mitigation_words(changed) == mitigation_words(base)) == (arm == "none")


def test_mitigation_words_are_the_arm_and_what_is_not_usual() -> None:
    after = replace(SPEC, mitigation="after")
    assert mitigation_words(SPEC) == "none" and mitigation_words(after) == "after"
    other = replace(after, constraint="drop", mitigated_group="series", dual_step=0.5)
    assert mitigation_words(other) == "after, drop, by series, dual step 0.5"
    assert arm_of(mitigation_words(other)) == arm_of("after") == "after"


@pytest.mark.parametrize("name", sorted(set(SETTINGS) - {*IDENTITY, *mitigation_settings()}))
def test_unlike_protocols_have_unlike_words(name: str) -> None:
    base = replace(SPEC, schedule="gradual", sparsities=(0.5,)) if "step" in name or name == "sparsities" else SPEC
    same = protocol(replace(base, **{name: another(getattr(base, name))})) == protocol(base)
    assert same == (name in ("diagnose", "keep_scores", "keep_checkpoints"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"technique": "l1_strutured"}, "did you mean 'l1_structured'"),
        ({"network": "letnet"}, "did you mean 'lenet'"),
        ({"dataset": "digit"}, "did you mean 'digits'"),
        ({"treatment": "rewinding"}, "did you mean 'rewind'"),
        ({"split": "oficial"}, "did you mean 'official'"),
        ({"share": 1.5}, "share is 1.5; allowed is a number between 0 and 1"),
        ({"levels": 0}, "levels is 0; allowed is 1 to 1000"),
        ({"epochs": "3"}, "epochs is '3'; it should be a whole number"),
        ({"flip": 1}, "flip is 1; it should be true or false"),
        ({"seed": True}, "seed is True; it should be a whole number"),
        ({"groups": ["age"]}, "groups is \\['age'\\]; it should be a list of texts"),
        ({"diagnose": (1,)}, "diagnose is \\(1,\\); it should be a list of texts"),
        ({"learning_rate": float("inf")}, "learning_rate is inf; allowed is a number above 0"),
        ({"crop": 33}, "crop is 33; allowed is 0 to 32 pixels"),
        ({"momentum": 1.0}, "momentum is 1.0; allowed is 0 or more and below 1"),
        ({"mitigated_group": ""}, "The name '' is not allowed"),
        ({"schedule": "oneshot"}, "sparsities is \\[\\]"),
        ({"schedule": "oneshot", "sparsities": (0.9, 0.5)}, "numbers between 0 and 1 that grow"),
        ({"sparsities": (0.5,)}, "no meaning for the schedule 'iterative'"),
        ({"schedule": "gradual", "sparsities": (0.5,), "end_step": 10}, "above begin_step"),
        ({"target": "../../etc"}, "is not allowed"),
        ({"mitigation": "magic"}, "There is no mitigation 'magic'"),
        ({"mitigation": "after", "constraint": "lost"}, "did you mean 'loss'"),
        ({"dual_step": 0.5}, "dual_step has no meaning for the mitigation 'none'"),
        ({"mitigation": "after", "dual_step": -1.0}, "dual_step is -1.0; allowed is 0 or more"),
        ({"mitigation": "after", "tolerance": 0.1}, "tolerance has no meaning for the constraint 'loss'"),
        ({"mitigation": "both", "constraint": "drop"}, "its mitigation is 'after', not 'both'"),
        ({"mitigation": "after", "mitigated_group": "series"}, "There is no grouping of digits 'series'"),
        ({"mitigation": "after", "epochs_after": 1}, "needs 2 epochs or more"),
        ({"diagnose": ("clas",)}, "did you mean 'class'"),
    ],
)
def test_a_wrong_setting_is_named_with_what_is_allowed(change: dict, message: str) -> None:
    with pytest.raises(PruneScopeError, match=message):
        validate_spec(replace(SPEC, **change))


def test_a_run_of_no_technique_is_read_back() -> None:
    """Predictions of others may call theirs so; its settings leave it out, as the dense network's do."""
    spec = RunSpec("own", "net", "none", schedule="imported", epochs=0)
    assert spec_from_settings(settings(spec)) == spec


def test_every_shipped_run_is_called_by_its_key() -> None:
    folders = [path.parent for path in DEMO.glob("runs/*/spec.json")]
    specs = {folder.name: json.loads((folder / "spec.json").read_text())["settings"] for folder in folders}
    assert specs and all(spec_from_settings(values).key == name for name, values in specs.items())
    assert all(settings(spec_from_settings(values)) == values for values in specs.values())


def test_an_unknown_setting_in_a_file_is_refused() -> None:
    with pytest.raises(PruneScopeError, match="Unknown setting 'colour'"):
        spec_from_settings({"dataset": "digits", "colour": "red"})


def test_checked_fills_in_the_split() -> None:
    assert validate_spec(SPEC).split == "official"
    assert validate_spec(replace(SPEC, dataset="qmnist")).split == "writers"
