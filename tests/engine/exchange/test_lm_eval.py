"""Samples of lm-evaluation-harness, in the format that its version 0.4.13 writes."""

import hashlib
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.api.fair_between import study_points
from engine.commands import main
from engine.errors import PruneScopeError
from engine.exchange.sources.lm_eval import model_facts
from engine.store.study import Study
from engine.store.verification.verify import verify_study

MODELS = {"dense": 0.0, "gptq-8bit": 0.1, "gptq-4bit": 0.4, "wanda@0.5": 0.6}
SUBJECTS = ("law", "physics", "art")
N = 60
WRITTEN = Path(__file__).with_name("lm_eval_0_4_13.zip")
"""What lm_eval 0.4.13 wrote with --log_samples: a tiny Llama with random weights, dense, rounded to 8 and 4 bits, and
with half of its weights cut, asked three tasks of 40 documents; of results_*.json only what says no paths."""


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def choice_sample(number: int, noise: float, random: np.random.Generator, n_choices: int = 4) -> dict[str, Any]:
    """A document with choices: log-probabilities as text, as the harness writes them."""
    gold = number * 7 % n_choices
    document = {
        "question": f"question {number}",
        "subject": SUBJECTS[number % 3],
        "answer": gold,
        "choices": ["w", "x"],
    }
    scores = np.where(np.arange(n_choices) == gold, 1.0, 0.0) + noise * random.normal(size=n_choices)
    said = int(np.argmax(scores))
    return {
        "doc_id": number,
        "doc": document,
        "target": str(gold),
        "arguments": {f"gen_args_{c}": {"arg_0": f"question {number}", "arg_1": f" {c}"} for c in range(n_choices)},
        "resps": [[[str(score), "False"]] for score in scores],
        "filtered_resps": [[str(score), "False"] for score in scores],
        "filter": "none",
        "metrics": ["acc", "acc_norm"],
        "doc_hash": digest(json.dumps(document)),
        "prompt_hash": digest(f"question {number}"),
        "target_hash": digest(str(gold)),
        "acc": float(said == gold),
        "acc_norm": 0.0,
    }


def text_sample(number: int, noise: float, random: np.random.Generator) -> list[dict[str, Any]]:
    """A document that is answered in words: two filters, exact match."""
    document = {"question": f"sum {number}", "answer": str(number), "subject": "sums"}
    right = float(random.random() > noise)
    same = {
        "doc_id": number,
        "doc": document,
        "target": str(number),
        "arguments": {"gen_args_0": {"arg_0": f"sum {number}", "arg_1": {"until": ["\n"]}}},
        "resps": [[f"it is {number}"]],
        "doc_hash": digest(json.dumps(document)),
        "prompt_hash": digest(f"sum {number}"),
        "target_hash": digest(str(number)),
        "metrics": ["exact_match"],
    }
    return [
        {**same, "filter": "strict-match", "filtered_resps": [str(number)], "exact_match": right},
        {**same, "filter": "flexible-extract", "filtered_resps": ["?"], "exact_match": 1.0 - right},
    ]


def write_samples(folder: Path, models: dict[str, float] = MODELS) -> None:
    """Four models, three tasks: two of choices, one of words; a stale file of an earlier date beside one."""
    for seed, (model, noise) in enumerate(models.items()):
        random = np.random.default_rng(seed)
        tasks = {
            "mmlu_mini": [choice_sample(number, noise, random) for number in range(N)],
            "arc_mini": [choice_sample(1000 + number, noise, random, 3) for number in range(N)],
            "gsm_mini": [line for number in range(N) for line in text_sample(number, noise, random)],
        }
        (folder / model).mkdir(parents=True)
        for task, lines in tasks.items():
            text = "".join(json.dumps(line) + "\n" for line in lines)
            (folder / model / f"samples_{task}_2026-11-18T08-00-00.123456.jsonl").write_text(text)
        (folder / model / "samples_arc_mini_2025-01-01T08-00-00.123456.jsonl").write_text("{}\n")
        config = {"config": {"model_args": "pretrained=tiny,dtype=float16", "model_num_parameters": 12_345}}
        (folder / model / "results_2026-11-18T08-00-00.123456.json").write_text(json.dumps(config))


def bring_written(folder: Path, study: Path) -> None:
    """Lay out what the harness itself wrote, and import it by one command."""
    with zipfile.ZipFile(WRITTEN) as archive:
        archive.extractall(folder)
    assert main(["import", str(folder), "--from", "lm-eval", "--study", str(study)]) == 0


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("harness")
    write_samples(folder / "out")
    assert main(["import", str(folder / "out"), "--from", "lm-eval", "--study", str(folder / "study")]) == 0
    return folder


def test_a_folder_comes_in_by_one_command_with_tasks_and_subjects(harness: Path) -> None:
    study = Study(harness / "study")
    assert verify_study(study) == []
    examples = study.examples("lm-eval")
    assert len(examples) == 3 * N and set(examples["task"]) == {"mmlu_mini", "arc_mini", "gsm_mini"}
    assert set(examples["subject"]) == {*SUBJECTS, "sums"} and "prompt_hash" not in examples
    assert study.class_facts("lm-eval")["name"].tolist() == ["A", "B", "C", "D", "right", "wrong"]
    sizes = study.run_tables(study.levels(), "sizes")
    assert sorted(sizes["bits"]) == [4, 8, 16, 16, 16] and set(sizes["params"]) == {12_345}, (
        "float16 where none are few"
    )


def test_accuracies_are_those_that_the_harness_stored(harness: Path) -> None:
    study = Study(harness / "study")
    names = study.levels()
    expected = {}
    for model in MODELS:
        stored = []
        for path in (harness / "out" / model).glob("samples_*_2026*.jsonl"):
            lines = [json.loads(line) for line in path.read_text().splitlines()]
            stored += [
                line.get("acc", line.get("exact_match")) for line in lines if line["filter"] != "flexible-extract"
            ]
        expected[model] = np.mean(stored)
    accuracy = {(row.technique, row.level): row.accuracy for row in names.itertuples()}
    assert accuracy["gptq", 0] == accuracy["wanda", 0] == pytest.approx(expected["dense"])
    assert [accuracy["gptq", 1], accuracy["gptq", 2]] == pytest.approx([expected["gptq-8bit"], expected["gptq-4bit"]])
    assert accuracy["wanda", 1] == pytest.approx(expected["wanda@0.5"])


def test_the_choice_between_subjects_answers(harness: Path) -> None:
    points = study_points(Study(harness / "study"), "subject")
    assert points["max_min"].notna().all() and len(points) == 5


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the harness itself wrote, and the study that one command makes of it."""
    folder = tmp_path_factory.mktemp("written")
    bring_written(folder / "out", folder / "study")
    return folder


def test_what_the_harness_wrote_itself_comes_in_by_one_command(written: Path) -> None:
    study = Study(written / "study")
    assert verify_study(study) == []
    examples, sizes = study.examples("lm-eval"), study.run_tables(study.levels(), "sizes")
    assert len(examples) == 120 and set(examples["subject"]) == set(SUBJECTS)
    assert set(examples["task"]) == {"mini_arc", "mini_mmlu", "mini_yes"}
    bits = {(row.technique, row.level): row.bits for row in sizes.itertuples()}
    assert bits == {("rtn", 0): 32, ("rtn", 1): 8, ("rtn", 2): 4, ("wanda", 0): 32, ("wanda", 1): 32}
    assert set(sizes["params"]) == {27_232}


def test_its_accuracies_are_those_of_its_own_results(written: Path) -> None:
    levels = {(row.technique, row.level): row.accuracy for row in Study(written / "study").levels().itertuples()}
    models = {"dense": ("rtn", 0), "rtn-8bit": ("rtn", 1), "rtn-4bit": ("rtn", 2), "wanda@0.5": ("wanda", 1)}
    for model, key in models.items():
        (path,) = (written / "out" / model).rglob("results_*.json")
        results = json.loads(path.read_text())["results"]
        assert levels[key] == pytest.approx(np.mean([task["acc,none"] for task in results.values()]))


def test_a_model_that_nobody_describes_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_samples(tmp_path / "out", {"dense": 0.0, "org__mystery": 0.3})
    command = ["import", str(tmp_path / "out"), "--from", "lm-eval", "--study", str(tmp_path / "study")]
    assert main(command) == 1
    assert "--model org__mystery=technique=gptq,bits=4" in capsys.readouterr().err
    assert main([*command, "--model", "org__mystery=technique=awq,bits=4"]) == 0
    assert set(Study(tmp_path / "study").levels()["technique"].astype(str)) == {"awq"}


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("prompt_hash", "other", "prompt_hash.*contradicts"),
        ("acc", 0.5, "the stored acc is"),
        ("doc_hash", "other", "has no row for example"),
    ],
)
def test_what_does_not_fit_is_refused(
    field: str, value: object, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_samples(tmp_path / "out", {"dense": 0.0, "gptq-4bit": 0.0})
    path = next((tmp_path / "out" / "gptq-4bit").glob("samples_mmlu_mini_2026*"))
    lines = path.read_text().splitlines()
    sample = json.loads(lines[2])
    sample[field] = 1.0 - sample["acc"] if field == "acc" else value
    path.write_text("\n".join([*lines[:2], json.dumps(sample), *lines[3:]]) + "\n")
    assert main(["import", str(tmp_path / "out"), "--from", "lm-eval", "--study", str(tmp_path / "study")]) == 1

    assert re.search(words, capsys.readouterr().err) and not (tmp_path / "study").exists()


def test_results_say_bits_and_parameters(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    config = {"config": {"model_args": {"pretrained": "x", "load_in_4bit": True}, "model_num_parameters": 7}}
    (tmp_path / "m" / "results_2026.json").write_text(json.dumps(config))
    assert model_facts(tmp_path / "m", {}) == {"params": 7, "technique": "load_in_few_bits", "bits": 4}
    with pytest.raises(PruneScopeError, match="Nothing says"):
        model_facts(tmp_path, {})
