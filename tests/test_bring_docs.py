"""The round trip that the docs show is run as it is printed."""

import glob
import re
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.torch import save_file

from engine.commands import main
from engine.store.study import Study
from tests.engine.exchange import test_every_eval_ever, test_lm_eval
from tests.engine.runs.test_given_weights import own_network
from tests.support.uploads import long_table

TOP = Path(__file__).resolve().parents[1]
PAGE = TOP / "docs" / "bring-your-own.md"


def test_the_scikit_learn_round_trip_works_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = PAGE.read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert code is not None
    lines = [line for line in code[1].splitlines() if line.strip()]
    assert len(lines) <= 20
    monkeypatch.chdir(tmp_path)
    subprocess.run([sys.executable, "-W", "ignore", "-c", code[1]], check=True)
    command = re.search(r"^prunescope (import digits\.csv .*)", text, re.MULTILINE)
    assert command is not None
    assert main(command[1].split()) == 0
    levels = Study(tmp_path / "data" / "sklearn").levels()
    assert levels.groupby("level")["sparsity"].first().tolist() == [0, 0.5, 0.8, 0.9]
    assert levels["seed"].nunique() == 3 and levels["network"].unique().tolist() == ["MLP"]
    by_level = levels.groupby("level")["accuracy"].mean()
    assert by_level[0] > 0.9 > by_level[3]


def test_the_loop_of_pytorch_works_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## From a training loop of your own")[2]
    code = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert code is not None
    monkeypatch.chdir(tmp_path)
    subprocess.run([sys.executable, "-W", "ignore", "-c", code[1]], check=True)
    levels = Study(tmp_path / "data" / "torch").levels()
    assert levels["sparsity"].tolist() == [0, 0.5] and set(levels["technique"]) == {"l1"}
    assert levels["accuracy"].iloc[0] > 0.75


def commands(heading: str) -> list[list[str]]:
    """The words of our commands that a section prints, names of files as a shell would find them."""
    section = PAGE.read_text(encoding="utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return [
        [name for word in line.split() for name in (sorted(glob.glob(word)) or [word])]
        for line in re.findall(r"^prunescope (.*[^\\])$", section, re.MULTILINE)
    ]


def test_several_files_come_in_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = long_table(n=12, seeds=4)
    for number, own in rows[rows["seed"] < 2].groupby(["technique", "sparsity", "seed"]):
        path = Path("runs") / "-".join(map(str, number)) / "predictions.csv"
        path.parent.mkdir(parents=True)
        own.to_csv(path, index=False)
    Path("results").mkdir()
    rows[rows["seed"] == 2].to_parquet("results/seed-2.parquet", index=False)
    rows[rows["seed"] == 3].to_csv("new.csv.gz", index=False)
    printed = commands("Several files, folders, and later ones")
    assert len(printed) == 3 and len(printed[0]) > 8
    assert [main(words) for words in printed] == [0, 0, 0]
    assert sorted(Study("data/NAME").levels()["seed"].unique()) == [0, 1, 2, 3]


def test_harnesses_come_in_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = commands("From an evaluation harness")
    writers = {"lm-eval": test_lm_eval.write_samples, "every-eval-ever": test_every_eval_ever.write}
    assert [words[3] for words in printed] == list(writers)
    for words, write in zip(printed, writers.values(), strict=True):
        place = tmp_path / words[3]
        write(place / words[1])
        monkeypatch.chdir(place)
        assert main(words) == 0 and len(Study("data/llm").levels()) >= 4


def test_a_model_is_pruned_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## Prune my model")[2]
    code = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert code is not None
    monkeypatch.chdir(tmp_path)
    network = own_network()
    save_file({name: part.contiguous() for name, part in network.state_dict().items()}, "mine.safetensors")
    subprocess.run([sys.executable, "-W", "ignore", "-c", code[1]], check=True)
    assert Study("data/mine").levels()["sparsity"].round(2).tolist() == [0, 0.5, 0.9]
