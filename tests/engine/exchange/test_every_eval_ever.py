"""Instances of Every Eval Ever in the shape of its schema 0.2.2, whose fields rows of 0.3 must have too."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.api.fair_between import study_points
from engine.commands import main
from engine.store.study import Study
from engine.store.verification.verify import verify_study

MODELS = {"dense": 0.05, "gptq-8bit": 0.2, "gptq-4bit": 0.4, "wanda@0.5": 0.5}
CHOICES = ["red deer", "blue whale", "owl", "none of them"]
SUBJECTS = ("law", "physics", "art")
N = 60


def instance(model: str, task: str, number: int, said: str, is_correct: bool, **more: Any) -> dict[str, Any]:
    """A line with all that the schema requires."""
    gold = CHOICES[number * 7 % 4]
    has_choices = task != "gsm"
    reference = [gold] if has_choices else [str(number)]
    return {
        "schema_version": "0.3.0",
        "evaluation_id": f"{task}/{model}/1",
        "model_id": f"tiny/{model}",
        "evaluation_name": task,
        "sample_id": f"id{number}",
        "sample_hash": hashlib.sha256(f"{task}{number}".encode()).hexdigest(),
        "interaction_type": "single_turn",
        "input": {"raw": f"question {number}", "reference": reference, "choices": CHOICES if has_choices else None},
        "output": {"raw": [f" {said}"]},
        "messages": None,
        "answer_attribution": [
            {
                "turn_idx": 0,
                "source": "output.raw",
                "extracted_value": said,
                "extraction_method": "exact_match",
                "is_terminal": True,
            }
        ],
        "evaluation": {"score": float(is_correct), "is_correct": is_correct},
        "metadata": {"subject": SUBJECTS[number % 3], "note": f"free text of sample {number}" * 5},
        **more,
    }


def lines_of(model: str, noise: float, seed: int) -> dict[str, list[dict[str, Any]]]:
    """Two tasks: choices named by letter or by text, some answers none of them; and sums, right or wrong."""
    random = np.random.default_rng(seed)
    chosen, sums = [], []
    for number in range(N):
        gold = number * 7 % 4
        place = int(random.integers(4)) if random.random() < noise else gold
        said = ("ABCD"[place], CHOICES[place], f"({'abcd'[place]})")[number % 3]
        if random.random() < noise / 4:
            place, said = -1, "I do not know"
        chosen.append(instance(model, "mmlu", number, said, place == gold))
        is_right = bool(random.random() > noise)
        sums.append(instance(model, "gsm", number, str(number), is_right, evaluation_result_id="exact"))
        sums.append(instance(model, "gsm", number, str(number), not is_right, evaluation_result_id="loose"))
    return {"mmlu": chosen, "gsm": sums}


def write(folder: Path, change: Callable[[dict[str, Any]], dict[str, Any]] = lambda line: line) -> None:
    for seed, (model, noise) in enumerate(MODELS.items()):
        for task, lines in lines_of(model, noise, seed).items():
            place = folder / task / "tiny" / model
            place.mkdir(parents=True)
            lines = [change(line) if model == "gptq-4bit" and task == "mmlu" else line for line in lines]
            (place / f"{seed}_samples.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def bring(folder: Path) -> int:
    words = ["import", str(folder / "data"), "--from", "every-eval-ever", "--study", str(folder / "study")]
    return main(words)


@pytest.fixture(scope="module")
def brought(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("instances")
    write(folder / "data")
    assert bring(folder) == 0
    return folder


def test_a_folder_comes_in_by_one_command_with_tasks_and_subjects(brought: Path) -> None:
    study = Study(brought / "study")
    assert verify_study(study) == []
    examples = study.examples("every-eval-ever")
    assert len(examples) == 2 * N and set(examples["task"]) == {"mmlu", "gsm"}
    assert set(examples["subject"]) == set(SUBJECTS) and not {"note", "prompt_hash"} & set(examples)
    names = study.class_facts("every-eval-ever")["name"].tolist()
    assert names == ["A", "B", "C", "D", "no choice", "right", "wrong"]
    assert sorted(study.run_tables(study.levels(), "sizes")["bits"].dropna()) == [4, 8]
    assert len(study_points(study, "subject", 20)) >= 4


def test_accuracies_are_those_that_the_instances_say(brought: Path) -> None:
    levels = Study(brought / "study").levels()
    said = {
        model: np.mean(
            [
                line["evaluation"]["is_correct"]
                for lines in lines_of(model, noise, seed).values()
                for line in lines
                if line.get("evaluation_result_id") != "loose"
            ]
        )
        for seed, (model, noise) in enumerate(MODELS.items())
    }
    pruned = levels[levels["technique"] == "wanda"].set_index("sparsity")["accuracy"]
    assert pruned[0.5] == pytest.approx(said["wanda@0.5"]) and pruned[0.0] == pytest.approx(said["dense"])
    few_bits = levels[levels["technique"] == "gptq"].sort_values("level")["accuracy"].tolist()
    assert few_bits == pytest.approx([said["dense"], said["gptq-8bit"], said["gptq-4bit"]])


BAD: list[tuple[dict[str, Any], str]] = [
    ({"schema_version": "1.0.0"}, "Row 1 has the schema_version '1.0.0'; read are 0.2.x and 0.3.x"),
    ({"schema_version": None}, "Row 1 has no schema_version; read are"),
    ({"evaluation": {"score": 1.0}}, "is no instance of the schema: 'Object missing required field `is_correct`"),
    ({"input": "question"}, "is no instance of the schema"),
    ({"sample_id": 7}, "is no instance of the schema"),
    ({"sample_hash": "another prompt"}, "contradicts"),
    ({"sample_id": "id0", "sample_hash": None}, "which says 'A' of the same example"),
]


@pytest.mark.parametrize(("change", "sentence"), BAD, ids=[sentence[:40] for _, sentence in BAD])
def test_other_shapes_are_refused_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any], sentence: str
) -> None:
    write(tmp_path / "data", lambda line: line | change)
    assert bring(tmp_path) == 1
    error = capsys.readouterr().err
    assert sentence in error and "gptq-4bit" in error and error.count("\n") == 1
    assert not (tmp_path / "study").exists()


def test_an_answer_that_its_outcome_contradicts_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "data", lambda line: line | {"evaluation": {"score": 0.0, "is_correct": False}})
    assert bring(tmp_path) == 1
    assert "but is_correct is false" in capsys.readouterr().err


def test_two_models_in_a_file_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "data", lambda line: line | {"model_id": line["sample_id"]})
    assert bring(tmp_path) == 1
    assert "a file has the instances of one model" in capsys.readouterr().err


def test_a_folder_without_instances_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data").mkdir()
    assert bring(tmp_path) == 1
    assert "There is no .jsonl of instances" in capsys.readouterr().err
