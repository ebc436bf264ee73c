"""The command `regression`: its table, its file, and mistakes in a sentence."""

from pathlib import Path

import pandas as pd
import pytest

from engine.analysis.regression.standard_errors import ERRORS
from engine.commands import main
from engine.store.study import Study


def test_command_prints_the_table_and_writes_the_coefficients(
    study: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "coefficients.csv"
    words = ["regression", "--study", str(study.path), "--only", "network=lenet", "--csv", str(file)]
    assert main([*words, "--without", "finetune"]) == 0
    text = capsys.readouterr().out
    assert (
        "Linear (OLS) regression of accuracy" in text
        and "Left out: treatment: all rows have the same treatment." in text
    )
    assert "imbalance > 0" in text and "Caution:" in text and "sparsity" in text
    written = pd.read_csv(file)
    assert set(written["errors"]) == set(ERRORS) and "np.exp(sparsity)" in set(written["column"])
    assert main([*words[:3], "--terms", "plain", "--link", "logit", "--errors", "run"]) == 0
    assert "Fractional logit (GLM) regression of accuracy" in capsys.readouterr().out
    assert main([*words[:3], "--formula", "accuracy ~ sparsity + entropy"]) == 0
    assert "entropy < 0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--terms", "sparsity,foo"], "There is no term 'foo'"),
        (["--only", "colour=red"], "There is no column 'colour'"),
        (["--only", "network=lennet"], "No row has network 'lennet'; there are lenet, vgg11."),
        (["--formula", "accuracy ~ nothing"], "'nothing' is not defined"),
    ],
)
def test_command_says_mistakes_in_a_sentence(
    study: Study, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["regression", "--study", str(study.path), *arguments]) == 1
    assert message in capsys.readouterr().err
