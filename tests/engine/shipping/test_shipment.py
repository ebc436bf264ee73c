"""A shipped folder is the network that was evaluated: proved by every answer, whole or not there, checked later."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from safetensors.torch import save_file

import prunescope as ps
from engine.commands import main
from engine.errors import PruneScopeError
from engine.run_spec import RunSpec
from engine.runs.run import run_experiment
from engine.runs.workspace import open_workspace
from engine.shipping.decision.decision_facts import record_values
from engine.shipping.model import model_files, onnx_file
from engine.shipping.model.device_timing import device_timings
from engine.specs.checks import validate_spec
from engine.store import files as store_files
from engine.store.records.decisions import approve, propose, withdraw
from engine.store.records.measures import measured_models, read_measures
from engine.store.study import Study
from engine.store.verification.verify import set_aside, verify_study
from tests.support.decision_records import made_record
from tests.support.harness.bare import run_with_only

ROOT = Path("unused")
TOP = Path(__file__).resolve().parents[3]
BASE = validate_spec(
    RunSpec("digits", "lenet", "l1_structured", levels=2, share=0.4, epochs=5, learning_rate=0.1, batch_size=64)
)
IN_EIGHT_BITS = RunSpec(
    "digits",
    "lenet",
    "int8_static",
    treatment="finetune",
    schedule="oneshot",
    sparsities=(0.5,),
    epochs=5,
    learning_rate=0.1,
    batch_size=64,
)
POINTS = {
    "structured": BASE,
    "unstructured": replace(BASE, technique="global_unstructured"),
    "finetuned": replace(BASE, technique="global_unstructured", treatment="finetune", keep_checkpoints=True),
    "mitigated": replace(BASE, technique="global_unstructured", mitigation="both"),
    "static": IN_EIGHT_BITS,
    "dynamic": replace(IN_EIGHT_BITS, technique="int8_dynamic"),
}
FILES = {"README.md", "SHA256SUMS", "bom.json", "load_model.py", "predictions.parquet", "shipped.json"}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> ps.Study:
    made = ps.Study(tmp_path_factory.mktemp("ship") / "study", data=ROOT)
    for spec in POINTS.values():
        run_experiment(validate_spec(spec), made, ROOT, "cpu")
    return made


def key_of(point: str) -> str:
    return validate_spec(POINTS[point]).key


def images() -> np.ndarray:
    return open_workspace(BASE, ROOT, "cpu").dataset.test.images


def answers(study: Study, point: str, level: int) -> np.ndarray:
    levels, matrix = study.prediction_matrix(key_of(point))
    return matrix[levels == level][0]


@pytest.mark.parametrize(
    ("point", "level"), [("structured", 2), ("unstructured", 1), ("finetuned", 2), ("mitigated", 2)]
)
def test_every_file_answers_as_recorded(study: ps.Study, tmp_path: Path, point: str, level: int) -> None:
    shipped = study.ship(key_of(point), level, tmp_path / "out")
    recorded = answers(study, point, level)
    assert shipped.n_equal == shipped.n_equal_torch == shipped.n_answers == len(recorded)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {*FILES, "model.onnx", "model.safetensors"}
    session = onnx_file.onnx_session((tmp_path / "out" / "model.onnx").read_bytes())
    assert np.array_equal(onnx_file.onnx_answers(session, images(), 100), recorded)
    assert main(["check", str(tmp_path / "out")]) == 0


@pytest.mark.parametrize(("point", "level"), [("structured", 2), ("static", 1), ("dynamic", 1)])
def test_the_loader_needs_torch_and_safetensors_alone(study: ps.Study, tmp_path: Path, point: str, level: int) -> None:
    """Where it needs torchao too, the card says so. Also on a processor without the newest instructions, whose own
    products of eight-bit integers overflow."""
    folder = tmp_path / "out"
    shipped = study.ship(key_of(point), level, folder)
    packages = ["torch", "safetensors", *(["torchao"] if model_files.NEEDS_TORCHAO in shipped.notes else [])]
    assert ("torchao" in packages) == (point == "dynamic")
    assert all(note in (folder / "README.md").read_text() for note in shipped.notes)
    save_file({"images": torch.from_numpy(images())}, folder / "images.safetensors")
    script = (
        "import importlib.util, json; from load_model import load; from safetensors.torch import load_file\n"
        "print(json.dumps(load()(load_file('images.safetensors')['images']).argmax(1).tolist()))\n"
        "assert not any(map(importlib.util.find_spec, ('engine', 'prunescope', 'onnx', 'pandas', 'numpy')))\n"
    )
    done = run_with_only(packages, script, folder, ATEN_CPU_CAPABILITY="avx2", ONEDNN_MAX_CPU_ISA="AVX2")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == answers(study, point, level).tolist()


@pytest.mark.parametrize("point", ["static", "dynamic"])
def test_eight_bits_ship_in_torchs_own_format(study: ps.Study, tmp_path: Path, point: str) -> None:
    shipped = study.ship(key_of(point), 1, tmp_path / "out")
    assert shipped.n_equal_torch == shipped.n_answers
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert FILES | {"model.pt2"} <= names
    assert ("model.onnx" in names) != any("no ONNX file" in note for note in shipped.notes)
    assert shipped.costs["bytes"] < 0.5 * shipped.dense_costs["bytes"] or point == "dynamic"


def test_cards_say_what_was_measured_and_fit_their_schema(study: ps.Study, tmp_path: Path) -> None:
    shipped = study.ship(key_of("structured"), 2, tmp_path / "out")
    bom = (tmp_path / "out" / "bom.json").read_text()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(bom) is None
    card = (tmp_path / "out" / "README.md").read_text()
    assert f"{shipped.n_answers:,} of {shipped.n_answers:,} answers of this file" in card
    assert json.loads(card.split("model-index: ")[1].splitlines()[0])[0]["results"][0]["metrics"][0]["value"] == (
        pytest.approx(shipped.accuracy, abs=1e-6)
    )
    assert shipped.costs["macs"] < shipped.dense_costs["macs"]
    assert shipped.costs["stored"] < shipped.dense_costs["stored"]
    by_class = [row for row in shipped.groups if row.grouping == "class"]
    assert sum(row.n * row.accuracy for row in by_class) / shipped.n_answers == pytest.approx(shipped.accuracy)


def test_unequal_answers_ship_only_when_accepted(
    study: ps.Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = onnx_file.onnx_answers
    monkeypatch.setattr("engine.shipping.shipment.onnx_answers", lambda *given: np.roll(honest(*given), 1))
    with pytest.raises(PruneScopeError, match=r"does not answer as recorded: equal are 896 of 896 .* Nothing"):
        study.ship(key_of("unstructured"), 1, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    shipped = study.ship(key_of("unstructured"), 1, tmp_path / "out", accept=True)
    assert shipped.n_equal < shipped.n_answers == shipped.n_equal_torch


def test_without_onnx_the_tensors_ship_all_the_same(
    study: ps.Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_files, "missing_packages", lambda: ["onnxruntime"])
    shipped = study.ship(key_of("unstructured"), 1, tmp_path / "out")
    assert shipped.answers_by == "torch"
    assert not (tmp_path / "out" / "model.onnx").exists()
    assert any("prunescope[ship]" in note for note in shipped.notes)


def test_a_full_disk_leaves_nothing(study: ps.Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "to").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(store_files.os, "fsync", full)
        with pytest.raises(PruneScopeError, match="the disk is full"):
            from engine.shipping.ship_folder import write_folder

            write_folder(tmp_path / "to" / "out", {"a": b"1"})
    assert list((tmp_path / "to").iterdir()) == []


def test_where_nothing_large_can_be_written_nothing_is_left(study: ps.Study, tmp_path: Path) -> None:
    """The system refuses every file beyond 20 kB, wherever it lies: smaller than any model."""
    words = ["ship", key_of("finetuned"), "--study", str(study.path), "--level", "1", "--to", str(tmp_path / "out")]
    script = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        f"from engine.commands import main; sys.exit(main({[*words, '--device', 'cpu']!r}))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=TOP, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "Cannot write" in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("run", "level", "text"), [("nothere", 1, "There is no run"), ("structured", 9, "has no level 9; it has 0 to 2")]
)
def test_what_is_not_there_is_said(study: ps.Study, tmp_path: Path, run: str, level: int, text: str) -> None:
    with pytest.raises(PruneScopeError, match=text):
        study.ship(key_of(run) if run in POINTS else run, level, tmp_path / "out")


def test_damage_is_found(study: ps.Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "out"
    study.ship(key_of("unstructured"), 1, folder)
    model = folder / "model.onnx"
    model.write_bytes(model.read_bytes()[:-1] + b"x")
    (folder / "bom.json").unlink()
    (folder / "more.txt").write_text("")
    assert main(["check", str(folder)]) == 1
    printed = capsys.readouterr().out
    assert "model.onnx is not what was shipped" in printed
    assert "bom.json is missing" in printed
    assert "more.txt was added" in printed


def test_a_gate_takes_a_shipped_folder(study: ps.Study, tmp_path: Path) -> None:
    shipped = study.ship(key_of("structured"), 2, tmp_path / "out")
    policy = tmp_path / "policy.toml"
    policy.write_text(
        '[[rule]]\nmeasure = "answers_equal"\nat_least = 1\n[[rule]]\nmeasure = "macs"\nat_most = 1\n'
        '[[rule]]\nmeasure = "accuracy"\nat_least = 0.01\n'
    )
    gated = ps.gate(policy, tmp_path / "out")
    assert [finding.outcome for finding in gated.findings] == ["pass", "fail", "pass"]
    assert gated.findings[2].bounds.value == pytest.approx(shipped.accuracy)


def test_the_command_says_what_was_proved(study: ps.Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["ship", key_of("finetuned"), "--study", str(study.path), "--to", str(tmp_path / "out"), "--device", "cpu"]
    assert main(words) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "896 of 896 answers equal, given by ONNX Runtime" in printed
    assert "computing the run again" not in printed
    assert main(words) == 1
    assert "is there already" in capsys.readouterr().err
    assert torch.get_num_threads() >= 1


def test_a_decision_ships_along_and_check_asks_whether_it_stands(
    study: ps.Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, folder = key_of("finetuned"), tmp_path / "out"
    record = record_values(made_record())
    record["ships"] |= {"run": run, "level": 2}
    old = propose(study, record, "Ada")
    with pytest.raises(PruneScopeError, match=f"is on run {run} level 2, not on {run} level 1"):
        study.ship(run, 1, folder, decision=old)
    study.ship(run, 2, folder, decision=old)
    assert {path.name for path in folder.iterdir()} >= {"decision.html", "decision.json"}
    assert json.loads((folder / "decision.json").read_text())["decision"]["status"] == "proposed"
    assert {part["name"] for part in json.loads((folder / "bom.json").read_text())["components"][0]["components"]} >= {
        "decision.html"
    }

    def checked() -> tuple[int, str]:
        code = main(["check", str(folder), "--study", str(study.path)])
        return code, capsys.readouterr().out

    assert main(["check", str(folder)]) == 0 and "was proposed when it was shipped" in capsys.readouterr().out
    assert checked()[0] == 1 and "is proposed, not approved" in checked()[1]
    approve(study, old, "Grace")
    assert checked()[0] == 0 and "approved by Grace" in checked()[1]
    approve(study, new := propose(study, record, "Ada", supersedes=old), "Grace")
    assert checked()[0] == 1 and f"superseded by {new}" in checked()[1]
    withdraw(study, new, "Ada", "no good")
    with pytest.raises(PruneScopeError, match="was withdrawn"):
        study.ship(run, 2, tmp_path / "other", decision=new)
    assert not (tmp_path / "other").exists()


def test_what_was_measured_is_in_the_study_and_verify_looks_at_it(study: ps.Study, tmp_path: Path) -> None:
    shipped = study.ship(key_of("finetuned"), 2, tmp_path / "out")
    rows = measured_models(study, study.levels()[["run", "level", "sparsity"]])
    rows = rows[(rows["run"] == shipped.run) & (rows["level"] == 2)]
    assert sorted(rows["batch"]) == [1, 32] and set(rows["device"]) == {shipped.timed_on}
    one = rows[rows["batch"] == 1].iloc[0]
    assert one["milliseconds"] == shipped.costs["milliseconds"]["batch_1"]["median"] > 0
    assert one["dense_milliseconds"] == shipped.dense_costs["milliseconds"]["batch_1"]["median"]
    assert not [fault for fault in verify_study(study) if fault.name == "measures.parquet"]
    file = study.path / "measures.parquet"
    file.write_bytes(file.read_bytes()[:-9] + b"x" * 9)
    (fault,) = [fault for fault in verify_study(study) if fault.name == "measures.parquet"]
    assert "removed" in set_aside(study, fault) and len(read_measures(study)) == 0


def test_a_device_is_timed_in_turns() -> None:
    networks = [torch.nn.Linear(64, 64), torch.nn.Linear(64, 2048)]
    small, large = device_timings(networks, torch.rand(256, 64), torch.device("cpu"))
    assert 0 < small.low <= small.median <= small.high and large.median > small.median
