"""Samples of lm-evaluation-harness: what a model answers to each document of a task, as rows of predictions.

A file `MODEL/samples_TASK_DATE.jsonl` has one line per document and filter. The answer is the choice of the highest
log-probability, held against the stored `acc`; a task without choices has the outcomes right and wrong.
"""

import json
import re
import string
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from engine.errors import PruneScopeError
from engine.exchange.cells import shown
from engine.exchange.guess import guessed_model
from engine.exchange.mapping import ROLES, ColumnMapping, Constant, names_dense
from engine.exchange.sources.json_lines import json_objects
from engine.exchange.sources.several import FoundFile

RIGHT, WRONG = "right", "wrong"
OUTCOMES = ("acc", "exact_match", "em", "correct", "is_correct")
"""Stored values that say by themselves whether an answer is right, the first that is there."""
PROMPT = "prompt_hash"
"""Column that must be alike for all models: the harness's digest of the prompt."""
FIXED = ("example", "label", "prediction", "task", PROMPT)
N_LOOKED, MOST_GROUPS, LONGEST = 500, 50, 60
BATCH = 20_000
_SAMPLES = re.compile(r"^samples_(?P<task>.+?)(?:_(?P<date>\d{4}-\d\d-\d\dT[\d.:-]+))?\.jsonl$")
_BITS = re.compile(r"(?:^|[^0-9a-z])(?:w|int)?(\d{1,2})[-_ ]?(?:bits?|a16)\b|(?:^|[^0-9a-z])int(\d)\b", re.IGNORECASE)
_WIDTH = re.compile(r"\bb?float(16|32|64)\b")
_NEVER_GROUPS = ("answer", "answers", "label", "target", "gold", "query", "question", "choices", "id", "idx", "ind")


def found_samples(folder: Path, given: Mapping[str, Mapping[str, Constant]]) -> list[FoundFile]:
    """The newest samples of every task of every model in the folder, each with what is known of its model.

    `given` says by the model's folder what its samples cannot: technique, sparsity or bits.
    """
    newest: dict[tuple[Path, str], Path] = {}
    for path in sorted(folder.rglob("samples_*.jsonl")):
        match = _SAMPLES.match(path.name)
        if match:
            newest[path.parent, match["task"]] = path
    if not newest:
        raise PruneScopeError(f"There is no samples_TASK_DATE.jsonl in {folder}; run lm_eval with --log_samples.")
    unknown = sorted(set(given) - {parent.name for parent, _ in newest})
    if unknown:
        raise PruneScopeError(f"There is no model folder {unknown[0]!r} in {folder}.")
    facts = {parent: model_facts(parent, given.get(parent.name, {})) for parent, _ in newest}
    return [FoundFile(path, f"{path.parent.name}/{path.name}", facts[path.parent]) for path in newest.values()]


def model_facts(folder: Path, given: Mapping[str, Constant]) -> dict[str, Constant]:
    """What is known of the model in a folder: what was given, else by its name and its results_*.json."""
    name = folder.name.rsplit("__", 1)[-1]
    said: dict[str, Constant] = {}
    if names_dense(name) or names_dense(name.rstrip("0123456789#-_")):
        said = {"technique": "dense", "sparsity": 0}
    elif model := guessed_model(name):
        said = model.given()
    elif bits := _BITS.search(name):
        said = {"technique": name[: bits.start()].strip("-_. ") or "quantized", "bits": int(bits[1] or bits[2])}
    loaded, width = _of_results(folder)
    facts = {**loaded, **said, **given}
    if "bits" in given and "sparsity" not in given:
        facts.pop("sparsity", None)
    if not {"sparsity", "bits"} & set(facts):
        raise PruneScopeError(
            f"Nothing says how the model in {folder.name} is compressed; say it, as in --model "
            f"{folder.name}=technique=gptq,bits=4 or --model {folder.name}=technique=wanda,sparsity=0.5."
        )
    return {"bits": width, **facts} if width else facts


def _of_results(folder: Path) -> tuple[dict[str, Constant], int]:
    """What the newest results file says of the model: its parameters, and bits where it was loaded in few; and the bits
    of the type of its weights, 0 where that is not said."""
    files = sorted(folder.glob("results_*.json"))
    try:
        config = json.loads(files[-1].read_bytes()).get("config", {}) if files else {}
        arguments, n_parameters = config.get("model_args", ""), config.get("model_num_parameters")
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}, 0
    text = json.dumps(arguments)
    facts: dict[str, Constant] = {"params": n_parameters} if isinstance(n_parameters, int) and n_parameters > 0 else {}
    loaded = re.search(r"load_in_([48])bit\W{0,4}true", text, re.IGNORECASE)
    width = _WIDTH.search(f"{config.get('model_dtype') or ''} {text}")
    facts |= {"technique": "load_in_few_bits", "bits": int(loaded[1])} if loaded else {}
    return facts, int(width[1]) if width else 0


def sample_columns(path: Path) -> list[str]:
    """Columns that rows of these samples have: the fixed ones, and fields of the documents with few values."""
    values: dict[str, set[str]] = {}
    for number, sample in enumerate(json_objects(path)):
        document = sample.get("doc")
        for name, value in document.items() if isinstance(document, dict) else ():
            if isinstance(value, str | int) and name.isidentifier() and name.casefold() not in _NEVER_GROUPS:
                values.setdefault(name, set()).add(str(value))
        if number >= N_LOOKED:
            break
    few = [name for name, seen in values.items() if len(seen) <= MOST_GROUPS and max(map(len, seen)) <= LONGEST]
    return [*FIXED, *(name for name in few if name not in (*FIXED, *ROLES))]


def sample_mapping(columns: list[str], mapping: ColumnMapping, kind: str) -> ColumnMapping:
    """What the columns mean; `mapping` may pick the groups."""
    groups = [name for name in columns if name not in FIXED and (not mapping.groups or name in mapping.groups)]
    constants = {"dataset": kind, "network": "model", **mapping.constants}
    roles = {"example": "example", "label": "label", "prediction": "prediction"}
    return ColumnMapping(columns=roles, constants=constants, groups=("task", PROMPT, *groups), guess=False)


def sample_batches(path: Path, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """The samples as rows, a few thousand at a time; only one line of the file is in memory."""
    match = _SAMPLES.match(path.name)
    task = match["task"] if match else path.stem
    rows: list[dict[str, str | None]] = []
    seen: dict[str, int] = {}
    chosen: object = None
    for number, sample in enumerate(json_objects(path), 1):
        chosen = sample.get("filter") if number == 1 else chosen
        if sample.get("filter") == chosen:
            rows.append(_row(task, sample, number, seen))
        if len(rows) == BATCH:
            yield row_batch(rows, columns)
            rows = []
    yield row_batch(rows, columns)


def row_batch(rows: list[dict[str, str | None]], columns: list[str]) -> pa.RecordBatch:
    """The rows as columns of text; a field that a row lacks is an empty cell."""
    return pa.RecordBatch.from_pydict(
        {name: pa.array([row.get(name) for row in rows], pa.string()) for name in columns}
    )


def _row(task: str, sample: dict[str, Any], number: int, seen: dict[str, int]) -> dict[str, str | None]:
    document = sample.get("doc")
    fields = document if isinstance(document, dict) else {}
    digest = str(sample.get("doc_hash") or sample.get("doc_id"))
    seen[digest] = seen.get(digest, 0) + 1
    again = f"-{seen[digest]}" if seen[digest] > 1 else ""
    label, prediction = _answers(sample, number)
    return {
        **{name: str(value) for name, value in fields.items() if isinstance(value, str | int)},
        "example": f"{task}/{digest[:16]}{again}",
        "label": label,
        "prediction": prediction,
        "task": task,
        PROMPT: str(sample.get(PROMPT, ""))[:16] or None,
    }


def _answers(sample: dict[str, Any], number: int) -> tuple[str, str]:
    """The right answer and the model's: positions of choices, or right beside right or wrong."""
    outcome = next((sample[name] for name in OUTCOMES if isinstance(sample.get(name), bool | int | float)), None)
    likelihoods = _likelihoods(sample.get("filtered_resps"))
    gold = _gold(sample, len(likelihoods)) if len(likelihoods) > 1 else None
    if gold is not None:
        said = max(range(len(likelihoods)), key=lambda choice: likelihoods[choice])
        if outcome is not None and "acc" in sample and bool(outcome) != (said == gold):
            raise PruneScopeError(
                f"Row {number:,}: by log-probabilities the answer is {position(said)} and {position(gold)} is right, "
                f"but the stored acc is {shown(outcome)}."
            )
        return position(gold), position(said)
    if outcome is None:
        raise PruneScopeError(
            f"Row {number:,}: neither log-probabilities of choices nor one of {', '.join(OUTCOMES)} says the outcome."
        )
    return RIGHT, RIGHT if outcome >= 1 else WRONG


def _likelihoods(responses: object) -> list[float]:
    """Log-probability of each choice; empty where the responses are text."""
    try:
        return [float(response[0]) for response in responses]  # type: ignore[attr-defined]
    except (TypeError, ValueError, IndexError, KeyError):
        return []


def _gold(sample: dict[str, Any], n_choices: int) -> int | None:
    """Place of the right choice: the target as a number, a letter, or the text of a choice."""
    target = str(sample.get("target", "")).strip()
    if target.isdecimal() and int(target) < n_choices:
        return int(target)
    arguments = sample.get("arguments")
    texts = [_continuation(arguments, place) for place in range(n_choices)]
    if target and texts.count(target) == 1:
        return texts.index(target)
    if len(target) == 1 and target in string.ascii_uppercase[:n_choices]:
        return string.ascii_uppercase.index(target)
    return None


def _continuation(arguments: object, place: int) -> str:
    try:
        if isinstance(arguments, dict):
            return str(arguments[f"gen_args_{place}"]["arg_1"]).strip()
        return str(arguments[place][1]).strip()  # type: ignore[index]
    except (KeyError, IndexError, TypeError):
        return ""


def position(choice: int) -> str:
    """The letter of a choice, or its number beyond the alphabet."""
    return string.ascii_uppercase[choice] if choice < 26 else str(choice + 1)
