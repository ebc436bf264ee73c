"""A gate's inputs and its command: files of any toolkit, runs of a study, exit codes, summaries."""

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import prunescope as ps
from engine.commands import main

RULES = """
[[rule]]
measure = "accuracy"
at_least = 0.8
[[rule]]
measure = "group_loss"
between = "region"
at_most = 0.1
"""
SHARES = {"urban": (0.95, 0.92), "rural": (0.95, 0.65)}


def predictions(path: Path, column: int, sparsity: float, shuffled: bool = False, n: int = 1000) -> Path:
    """A file of one model's answers in two regions: before (0) or after (1) the fall of the rural one."""
    rows = [
        {"id": f"{region}-{k}", "y_true": k % 2, "y_pred": k % 2 if k < share[column] * n else 1 - k % 2}
        | {"region": region, "sparsity": sparsity, "technique": "magnitude" if sparsity else "dense"}
        for region, share in SHARES.items()
        for k in range(n)
    ]
    table = pd.DataFrame(rows)
    table = table.sample(frac=1, random_state=0) if shuffled else table
    table.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gate")
    (folder / "policy.toml").write_text(RULES, encoding="utf-8")
    dense = predictions(folder / "dense.csv", 0, 0.0, shuffled=True)
    pruned = predictions(folder / "pruned.csv", 1, 0.9)
    pd.concat([pd.read_csv(dense), pd.read_csv(pruned)]).to_csv(folder / "both.csv", index=False)
    pd.read_csv(dense).assign(sparsity=0.5, technique="magnitude").to_csv(folder / "same.csv", index=False)
    return folder


def test_two_files_are_joined_by_example(files: Path) -> None:
    gated = ps.gate(files / "policy.toml", files / "pruned.csv", files / "dense.csv")
    assert gated.outcome == "fail"
    loss = gated.findings[1]
    assert loss.bounds.group == "rural" and loss.bounds.value == pytest.approx(0.3)
    within = ps.gate(files / "policy.toml", files / "both.csv").findings[1]
    assert within.outcome == loss.outcome and within.bounds.low == pytest.approx(loss.bounds.low), "dense rows in it"
    assert ps.gate(files / "policy.toml", files / "same.csv", files / "dense.csv").outcome == "pass"


def test_for_a_test(files: Path) -> None:
    ps.assert_gate(files / "policy.toml", files / "same.csv", files / "dense.csv")
    with pytest.raises(AssertionError, match="rural"):
        ps.assert_gate(files / "policy.toml", files / "pruned.csv", files / "dense.csv")


def test_exit_codes_and_summaries(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = ["gate", "--policy", str(files / "policy.toml")]
    against = ["--baseline", str(files / "dense.csv")]
    outputs = [f"--{kind}={tmp_path / kind}" for kind in ("markdown", "junit", "json")]
    assert main([*policy, "--candidate", str(files / "same.csv"), *against]) == 0
    assert main([*policy, "--candidate", str(files / "pruned.csv"), *against, *outputs]) == 1
    assert main([*policy, "--candidate", str(files / "pruned.csv")]) == 3, "without a baseline a loss cannot be told"
    capsys.readouterr()
    facts = json.loads((tmp_path / "json").read_text())
    assert facts["gate"] == "fail" and facts["rules"][1]["group"] == "rural"
    suite = ElementTree.fromstring((tmp_path / "junit").read_text())
    assert suite.attrib["failures"] == "1" and len(suite.findall("testcase")) == 2
    assert "| fail | largest loss of a group (region) at most 10.0 points | 30.0 points" in (
        tmp_path / "markdown"
    ).read_text().replace("\\_", "_")


def test_input_that_cannot_be_used(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy, pruned = ["gate", "--policy", str(files / "policy.toml"), "--candidate"], str(files / "pruned.csv")
    other = pd.read_csv(files / "dense.csv")
    other.head(10).to_csv(tmp_path / "short.csv", index=False)
    other.assign(y_true=lambda t: 1 - t["y_true"]).to_csv(tmp_path / "labels.csv", index=False)
    other.drop(columns="region").assign(sparsity=0.5, technique="x").to_csv(tmp_path / "groups.csv", index=False)
    two = pd.concat([other.assign(sparsity=s, technique="x") for s in (0.5, 0.9)])
    two.to_csv(tmp_path / "two.csv", index=False)
    (tmp_path / "measures.json").write_text("[]")
    cases = {
        (str(tmp_path / "none.csv"),): "There is no file",
        (pruned, "--baseline", str(tmp_path / "short.csv")): "has no answer for example",
        (pruned, "--baseline", str(tmp_path / "labels.csv")): "has another label",
        (str(tmp_path / "groups.csv"),): "There is no column of groups 'region'",
        (str(tmp_path / "two.csv"),): "has 2 pruned models; a gate judges one",
        (pruned, "--measures", str(tmp_path / "measures.json")): "should hold numbers by name",
        (pruned, "--json", str(tmp_path / "two.csv" / "below")): "Cannot write",
        ("abc", "--study", str(tmp_path)): "There is no study",
    }
    for words, sentence in cases.items():
        assert main([*policy, *words]) == 2, words
        assert sentence in capsys.readouterr().err


def test_runs_of_a_study_stand_beside_their_control(capsys: pytest.CaptureFixture[str]) -> None:
    study = ps.Study(Path(__file__).parents[3] / "data" / "demo")
    levels = study.levels()
    tuned = levels[(levels["treatment"] == "finetune") & (levels["schedule"] == "iterative")]["run"].astype(str)
    policy = ps.gate(_policy(0.0), tuned.iloc[0], study=study.path)
    assert "against run" in policy.title and f"against run {tuned.iloc[0]}" not in policy.title
    (accuracy,) = policy.findings
    row = levels[(levels["run"].astype(str) == tuned.iloc[0])].sort_values("level").iloc[-1]
    assert accuracy.bounds.value == pytest.approx(row["accuracy"])
    start = ps.gate(_policy(0.0), tuned.iloc[0], study=study.path, level=0)
    assert "against" not in start.title
    with pytest.raises(ps.PruneScopeError, match="has no level 99"):
        ps.gate(_policy(0.0), tuned.iloc[0], study=study.path, level=99)


def _policy(accuracy: float):
    from engine.analysis.gate.rules import Policy, Rule

    return Policy((Rule("accuracy", accuracy),))


def test_several_seeds_are_one_candidate(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    rows = [
        {"example": k, "label": k % 3, "prediction": k % 3 if random.random() < 0.9 else 0, "seed": seed, "sparsity": s}
        for seed in range(3)
        for s in (0.0, 0.9)
        for k in range(300)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "seeds.csv", index=False)
    (finding,) = ps.gate(_policy(0.5), tmp_path / "seeds.csv").findings
    assert finding.outcome == "pass" and finding.bounds.n == 300
