"""The command line: what it prints, and how it says no."""

import shlex
from argparse import ArgumentParser
from dataclasses import replace
from pathlib import Path

import pytest

from engine.commands import main
from engine.commands.command_line import command_line
from engine.commands.list_tables import THINGS
from engine.commands.run_one import add_spec_arguments
from engine.pruning.techniques import TECHNIQUES
from engine.run_spec import SETTINGS, RunSpec

RUN = "run --dataset digits --network lenet --technique l1_structured --treatment rewind --levels 2 --epochs 1 --seed 0"


@pytest.mark.parametrize("things", THINGS)
def test_list_prints_every_row(things: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", things]) == 0
    printed = capsys.readouterr().out
    assert THINGS[things] and all(row.key in printed and row.label in printed for row in THINGS[things].values())


def test_run_then_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN.split(), "--study", str(tmp_path)]) == 0
    assert "finished in" in capsys.readouterr().out
    assert main([*RUN.split(), "--study", str(tmp_path)]) == 0
    assert "there already" in capsys.readouterr().out
    assert main(["show", "--study", str(tmp_path)]) == 0
    assert "1 runs, 3 models" in capsys.readouterr().out


def test_show_of_no_study_fails_as_verify_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("show", "verify"):
        assert main([command, "--study", str(tmp_path / "typo")]) == 1
        assert "There is no study in" in capsys.readouterr().err
    assert not (tmp_path / "typo").exists()


def test_show_never_calls_a_pruned_accuracy_dense(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{n},{n % 2},{n % 2 if n else 1},0.9" for n in range(10)]
    (tmp_path / "mine.csv").write_text("\n".join(["id,y_true,y_pred,sparsity", *rows]) + "\n")
    assert main(["import", str(tmp_path / "mine.csv"), "--study", str(tmp_path / "mine")]) == 0
    capsys.readouterr()
    assert main(["show", "--study", str(tmp_path / "mine")]) == 0
    line = next(text for text in capsys.readouterr().out.splitlines() if "imported" in text)
    assert "not recorded" in line and line.count("90.0%") == 1


def test_show_of_nothing_says_how_to_begin(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "--study", str(tmp_path)]) == 0
    assert "python -m engine run" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (RUN.replace("l1_structured", "l1_strutured"), "did you mean 'l1_structured'"),
        (RUN.replace("digits", "digit"), "did you mean 'digits'"),
        (RUN.replace("lenet", "lennet"), "did you mean 'lenet'"),
        (RUN.replace("digits", "kmnist"), "python -m engine data get kmnist"),
        (RUN.replace("--levels 2", "--levels 0"), "levels is 0"),
        (f"{RUN} --device cuda:9", "is not on this machine"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_1(
    arguments: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments.split(), "--study", str(tmp_path / "study"), "--data", str(tmp_path / "data")]) == 1
    printed = capsys.readouterr().err
    assert message in printed and "Traceback" not in printed
    assert not (tmp_path / "study" / "runs").exists()


def test_ratios_are_sparsities(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = RUN.replace("--levels 2", "--schedule oneshot --ratios 2,10").replace("l1_structured", "global_random")
    assert main([*words.split(), "--study", str(tmp_path)]) == 0
    main(["show", "--study", str(tmp_path)])
    assert "90.00%" in capsys.readouterr().out


def test_run_has_an_option_with_help_for_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    printed = " ".join(capsys.readouterr().out.split())
    for setting in SETTINGS.values():
        assert f"--{setting.name.replace('_', '-')}" in printed
        assert setting.about.help.replace("-", "") in printed.replace("-", "")


@pytest.mark.parametrize("name", SETTINGS)
def test_the_command_line_computes_the_same_run(name: str) -> None:
    values = {str: "other", bool: False, int: 77, float: 0.77}
    default = SETTINGS[name].default
    value = (0.5, 0.75) if name == "sparsities" else ("a", "b") if default == () else values.get(type(default), "x")
    spec = replace(RunSpec("digits", "lenet", "l1_structured", flip=True, keep_checkpoints=True), **{name: value})
    parser = ArgumentParser()
    add_spec_arguments(parser)
    words = shlex.split(command_line(spec).removeprefix("python -m engine run ").removesuffix(" --study STUDY"))
    options = parser.parse_args(words)
    assert RunSpec(**{each: getattr(options, each) for each in SETTINGS}) == spec


def test_techniques_have_distinct_colours_and_labels() -> None:
    rows = TECHNIQUES.values()
    assert len({row.colour for row in rows}) == len({row.label for row in rows}) == len(rows)
    assert all(row.help.endswith(".") for row in rows)
