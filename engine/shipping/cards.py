"""What travels with a shipped model for people and for tools: a model card (README.md) and a bill of materials."""

import json
import uuid
from typing import Any

from engine.pruning.techniques import TECHNIQUES
from engine.shipping.shipped_record import GroupRow, Shipped


def model_card(shipped: Shipped) -> str:
    """README.md: front matter that Hugging Face reads, then what a person wants to know first."""
    spec = shipped.settings
    technique, baseline = _technique(shipped), baseline_words(shipped)
    lines = [
        *front_matter(
            f"{spec['network']}-{spec['technique']}",
            str(spec["dataset"]),
            [{"type": "accuracy", "value": round(shipped.accuracy, 6)}],
        ),
        "",
        f"# {spec['network']} on {spec['dataset']}, {technique}, {100 * shipped.sparsity:.1f} % of weights cut",
        "",
        f"{_percent(shipped.accuracy)} of {shipped.n_answers:,} test examples are answered right"
        + (f", {_percent(shipped.baseline_accuracy)} {baseline}" if shipped.baseline_accuracy is not None else "")
        + f". {shipped.n_equal:,} of {shipped.n_answers:,} answers of this file, given by {shipped.answers_by}, are "
        "equal to those that were evaluated.",
        "",
        *[f"- {note}" for note in shipped.notes],
        "",
        "## Use it",
        "",
        "```python",
        "from load_model import load",
        "",
        f"scores = load()(images)  # bytes, 0 to 255, n x {' x '.join(str(side) for side in shipped.image_shape)}",
        "answers = scores.argmax(1)",
        "```",
        "",
        f"Classes, in order: {', '.join(map(markdown_text, shipped.classes))}. Images are normalised inside.",
        "",
        "## What it costs",
        "",
        *_cost_table(shipped),
        "",
        "## Who pays",
        "",
        *_group_table(shipped.groups, baseline),
        "",
        "## Not checked",
        "",
        "Other populations than this test set, other groups than those above, changes of the data over time, attacks.",
        "",
        "## Where it comes from",
        "",
        f"Study {markdown_text(shipped.study)}, run `{shipped.run}`, level {shipped.level}, "
        f"seed {spec.get('seed', 0)}; PruneScope {shipped.prunescope}, {shipped.made}. `prunescope check` tells "
        "whether the folder is whole.",
        "",
    ]
    return "\n".join(lines)


def bill_of_materials(shipped: Shipped) -> str:
    """bom.json: CycloneDX 1.6, the model as a component with its card and the digest of every file."""
    spec, technique = shipped.settings, _technique(shipped)
    metrics = [{"type": "accuracy", "value": f"{shipped.accuracy:.6f}", "slice": "all"}]
    metrics += [
        {"type": "accuracy", "value": f"{row.accuracy:.6f}", "slice": f"{row.grouping}={row.group}"}
        for row in shipped.groups
    ]
    card = {
        "modelParameters": {
            "task": "image classification",
            "architectureFamily": str(spec["network"]),
            "datasets": [{"type": "dataset", "name": str(spec["dataset"])}],
            "inputs": [{"format": "uint8 n x " + " x ".join(str(side) for side in shipped.image_shape)}],
            "outputs": [{"format": f"float32 n x {len(shipped.classes)}"}],
        },
        "quantitativeAnalysis": {"performanceMetrics": metrics},
        "considerations": {
            "technicalLimitations": [
                "Tested on one test set only.",
                *shipped.notes,
            ],
            "fairnessAssessments": [
                {"groupAtRisk": f"{row.grouping} {row.group}", "harms": _loss(row)} for row in _worst(shipped.groups)
            ],
        },
    }
    model = {
        "type": "machine-learning-model",
        "bom-ref": f"run-{shipped.run}-level-{shipped.level}",
        "name": f"{spec['network']}-{spec['dataset']}-{spec['technique']}",
        "version": f"{shipped.run}-{shipped.level}",
        "description": f"{technique}, {100 * shipped.sparsity:.1f} % of weights cut",
        "modelCard": card,
        "components": [
            {
                "type": "file",
                "bom-ref": f"file-{name}",
                "name": name,
                "hashes": [{"alg": "SHA-256", "content": digest}],
            }
            for name, digest in shipped.files.items()
        ],
    }
    values: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, f'{shipped.run}-{shipped.level}-{shipped.made}')}",
        "version": 1,
        "metadata": {
            "timestamp": shipped.made,
            "tools": {"components": [{"type": "application", "name": "prunescope", "version": shipped.prunescope}]},
        },
        "components": [
            model,
            *[
                {"type": "library", "bom-ref": f"{name}-{version}", "name": name, "version": version}
                for name, version in shipped.versions.items()
            ],
        ],
    }
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"


def front_matter(name: str, dataset: str, metrics: list[dict[str, Any]]) -> list[str]:
    """What Hugging Face reads at the head of a model card."""
    results = {
        "task": {"type": "image-classification"},
        "dataset": {"name": dataset, "type": dataset, "split": "test"},
        "metrics": metrics,
    }
    facts = {
        "library_name": "pytorch",
        "pipeline_tag": "image-classification",
        "tags": ["pruned", "prunescope"],
        "model-index": [{"name": name, "results": [results]}],
    }
    return ["---", *[f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in facts.items()], "---"]


def _cost_table(shipped: Shipped) -> list[str]:
    """Dense beside shipped."""
    dense, here = shipped.dense_costs, shipped.costs
    rows = [
        ("weights that are not zero", dense["weights"], here["weights"]),
        ("weights in the file", dense["stored"], here["stored"]),
        ("multiplications per image", dense["macs"], here["macs"]),
        ("bytes", dense["bytes"], here["bytes"]),
        ("bytes, zipped", dense["bytes_zipped"], here["bytes_zipped"]),
    ]
    lines = ["| | dense | this model |", "| --- | --- | --- |"]
    lines += [f"| {name} | {was:,} | {now:,} |" for name, was, now in rows]
    for batch in here["milliseconds"]:
        was, now = dense["milliseconds"][batch], here["milliseconds"][batch]
        words = [f"{time['median']:.3g} ({time['low']:.3g} to {time['high']:.3g})" for time in (was, now)]
        lines.append(f"| milliseconds, batch of {batch.removeprefix('batch_')} | {words[0]} | {words[1]} |")
    for batch, now in here.get("cuda_milliseconds", {}).items():
        was = dense["cuda_milliseconds"][batch]
        words = [f"{time['median']:.3g} ({time['low']:.3g} to {time['high']:.3g})" for time in (was, now)]
        lines.append(f"| milliseconds on CUDA, batch of {batch.removeprefix('batch_')} | {words[0]} | {words[1]} |")
    if here["milliseconds"]:
        timed = f"Milliseconds: median and middle half of calls taken in turns, one thread, {shipped.timed_on}."
        lines += ["", timed]
    return lines


def baseline_words(shipped: Shipped) -> str:
    """What the model is compared with."""
    return "dense at the start" if shipped.baseline_run == shipped.run else "with the same training, unpruned"


def _group_table(groups: list[GroupRow], baseline: str) -> list[str]:
    lines = [f"| | group | n | {baseline} | this model |", "| --- | --- | --- | --- | --- |"]
    for row in groups:
        was = "" if row.baseline is None else _percent(row.baseline)
        names = f"{markdown_text(row.grouping)} | {markdown_text(row.group)}"
        lines.append(f"| {names} | {row.n:,} | {was} | {_percent(row.accuracy)} |")
    return lines


def _worst(groups: list[GroupRow], most: int = 3) -> list[GroupRow]:
    """The groups that lose most."""
    return sorted((row for row in groups if row.baseline is not None), key=_change)[:most]


def _change(row: GroupRow) -> float:
    return row.accuracy - (row.baseline or 0.0)


def _loss(row: GroupRow) -> str:
    return f"{100 * _change(row):+.1f} points of accuracy, n = {row.n}"


def _technique(shipped: Shipped) -> str:
    name = str(shipped.settings["technique"])
    return TECHNIQUES[name].label if name in TECHNIQUES else name


def _percent(share: float | None) -> str:
    return "not known" if share is None else f"{100 * share:.2f} %"


def markdown_text(name: str) -> str:
    """A name that ends no cell of a table and starts no markup."""
    plain = "".join(letter if letter.isprintable() else " " for letter in name)
    return "".join(f"\\{letter}" if letter in "|<>[]`*_\\#" else letter for letter in plain)
