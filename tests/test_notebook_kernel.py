"""The notebook that prunes a network of one's own, in a kernel as Jupyter starts it."""

import json
from pathlib import Path

import numpy as np
import pytest

from engine.store.study import Study
from engine.store.verification.verify import verify_study

TOP = Path(__file__).resolve().parents[1]
NOTEBOOK = TOP / "examples" / "prune_my_model.ipynb"
CHECK = """
levels, predictions = study.prediction_matrix(key)
with torch.no_grad():
    own = mine.eval()(inputs[is_test]).argmax(1).numpy()
print((predictions[0] == own).all(), (predictions[2] != own).any(), len(own), *levels)
"""


def test_a_trained_network_is_pruned_in_a_kernel_answer_for_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(NOTEBOOK, 4)
    notebook.cells.append(nbformat.v4.new_code_cell(CHECK))
    monkeypatch.setenv("PYTHONPATH", str(TOP))
    for name in ("HOME", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    said = "".join(output.get("text", "") for output in notebook.cells[-1].outputs)
    assert said.split() == ["True", "True", "599", "0", "1", "2"]
    study = Study(tmp_path / "my-model")
    assert verify_study(study) == [] and study.levels()["accuracy"].iloc[0] > 0.9
    assert np.allclose(study.levels()["sparsity"], [0, 0.5, 0.9], atol=0.01)


def test_the_notebook_says_what_is_ours_in_twenty_lines_and_keeps_no_output() -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    lines = [line for cell in cells if cell["cell_type"] == "code" for line in cell["source"] if line.strip()]
    assert all(not cell.get("outputs") for cell in cells)
    assert len([line for line in lines if "import" not in line]) <= 20
