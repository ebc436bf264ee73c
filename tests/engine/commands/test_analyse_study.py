"""`analyse`: every variant that was asked for, kept once."""

from pathlib import Path

import pytest

from engine.commands import main
from tests.support.studies import make_study


def test_analyse_keeps_each_variant_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_study(tmp_path, techniques=("global_unstructured",), levels=2, writers=20, examples=600)
    asked = ["analyse", "--study", str(tmp_path)]
    assert main([*asked, "--only", "treatment=rewind"]) == 0
    assert "of 20 surely lose more than the average" in capsys.readouterr().out
    assert len(list((tmp_path / "analyses").glob("*.json"))) == 1
    assert main(asked) == 0
    assert capsys.readouterr().out.count("there already") == 1
    assert len(list((tmp_path / "analyses").glob("*.parquet"))) == 2


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--only", "colour=red"], "There is no column 'colour'"),
        (["--only", "treatment=none"], "No run is left"),
        (["--attribute", "height"], "There is no attribute 'height'"),
        (["--level", "9"], "Nothing was analysed"),
    ],
)
def test_what_cannot_be_analysed_is_said(
    more: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_study(tmp_path, techniques=("global_unstructured",), treatments=("rewind",), levels=1, examples=240)
    assert main(["analyse", "--study", str(tmp_path), *more]) == 1
    assert message in capsys.readouterr().err
