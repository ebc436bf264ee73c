"""From a run and a level to a folder of files that is proved to be that network."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import torch
from torch import Tensor

from engine.errors import PruneScopeError
from engine.run_spec import Watcher
from engine.shipping.baseline_run import baseline_of
from engine.shipping.cards import bill_of_materials, model_card
from engine.shipping.decision.laid_in import decision_files
from engine.shipping.facts import Compared, cost_facts, group_rows, measure_rows, origin
from engine.shipping.model.device_timing import device_timings
from engine.shipping.model.measure import BATCHES, Costs, Timing, processor_name, timings
from engine.shipping.model.model_files import ModelFiles, float_files, model_files
from engine.shipping.model.onnx_file import OUTPUT, onnx_answers
from engine.shipping.model.plan import INPUT
from engine.shipping.predictions import PREDICTIONS, answers_of, prediction_rows, sparsity_of
from engine.shipping.ship_folder import digests, write_folder
from engine.shipping.shipped_record import RECORD, Shipped
from engine.shipping.trained import Trained, trained_network, untrained
from engine.store.parquet import to_parquet
from engine.store.records.measures import write_measures
from engine.store.study import Study, examples_name
from engine.training.costs import macs, weight_counts, zipped
from engine.training.device import pick_device, reproducible

NEEDS_ACCEPT = "Nothing was written; --accept ships it all the same and records the count."


@dataclass(frozen=True)
class Order:
    """What is to be shipped, and how: `accept` ships a model whose answers are not all equal to the record."""

    run: str
    level: int
    to: Path
    root: Path
    device: str = "auto"
    accept: bool = False
    decision: str = ""
    watch: Watcher = lambda progress: None
    tell: Callable[[str], None] = lambda text: None


@dataclass(frozen=True, eq=False)
class _Evidence:
    """What was made, compared and measured."""

    made: ModelFiles
    compared: Compared
    equal: dict[str, int]
    """Answers equal to the record, by what gave them."""
    costs: Costs
    dense_costs: Costs


def ship(study: Study, order: Order) -> Shipped:
    """What is said of the model whose folder is now there; nothing is written where the proof fails."""
    if order.to.exists() and any(order.to.iterdir() if order.to.is_dir() else [order.to]):
        raise PruneScopeError(f"{order.to} is there already; name a folder that is not.")
    decided = decision_files(study, order.decision, order.run, order.level) if order.decision else {}
    trained = trained_network(study, order.run, order.level, order.root, order.device, order.watch)
    with reproducible(pick_device("cpu")):
        found = _evidence(study, order, trained)
    shipped = _record(study, order, trained, found)
    compared = found.compared
    baseline = {} if compared.baseline is None else {"baseline": compared.baseline}
    rows = prediction_rows(study, trained.spec, shipped.sparsity, {"model": compared.answers, **baseline})
    contents = {**found.made.contents, PREDICTIONS: to_parquet(rows, "predictions"), **decided}
    shipped = msgspec.structs.replace(shipped, files=digests(contents))
    cards = {"README.md": model_card(shipped).encode(), "bom.json": bill_of_materials(shipped).encode()}
    write_folder(order.to, {**contents, **cards, RECORD: msgspec.json.format(msgspec.json.encode(shipped))})
    _keep_measures(study, order, shipped)
    return shipped


def _keep_measures(study: Study, order: Order, shipped: Shipped) -> None:
    """Lay what was measured into the study; one that cannot be written to is told, and the model is shipped all the
    same."""
    try:
        write_measures(study, measure_rows(shipped))
    except PruneScopeError as error:
        order.tell(f"What was measured is in the folder only: {error}")


def _evidence(study: Study, order: Order, trained: Trained) -> _Evidence:
    """The files, proved and measured; a refusal where answers differ and that was not accepted."""
    order.tell("Making the files.")
    made, dense = model_files(trained), float_files(untrained(trained))
    order.tell("Asking the files for every answer of the test set.")
    compared, images = _compared(study, order), trained.workspace.test.images.cpu()
    equal = _n_equal(made, images, compared.answers)
    if min(equal.values()) < len(compared.answers) and not order.accept:
        raise PruneScopeError(_refusal(order, trained, equal, len(compared.answers)))
    order.tell("Measuring what it costs.")
    return _Evidence(made, compared, equal, *_costs(made, dense, images[: max(BATCHES)]))


def _compared(study: Study, order: Order) -> Compared:
    """What the study has recorded of the model and of its baseline."""
    run, level = baseline_of(study, order.run, order.level) if order.level else ("", 0)
    baseline = answers_of(study, run, level) if run and level in study.prediction_matrix(run)[0] else None
    return Compared(answers_of(study, order.run, order.level), baseline, run, level)


def _n_equal(made: ModelFiles, images: Tensor, recorded: np.ndarray) -> dict[str, int]:
    """How many answers of torch, and of ONNX Runtime where there is a file for it, are the recorded ones."""
    equal = {"torch": int((made.answers(images) == recorded).sum())}
    if made.session is not None:
        equal["ONNX Runtime"] = int((onnx_answers(made.session, images.numpy()) == recorded).sum())
    return equal


def _refusal(order: Order, trained: Trained, equal: dict[str, int], n: int) -> str:
    counts = " and ".join(f"{count:,} of {n:,} answers with {by}" for by, count in equal.items())
    again = "computed again here, " if trained.computed else ""
    return (
        f"Run {order.run} level {order.level}, {again}does not answer as recorded: equal are {counts}. {NEEDS_ACCEPT}"
    )


def _costs(made: ModelFiles, dense: ModelFiles, images: Tensor) -> tuple[Costs, Costs]:
    """What the model and the dense network cost, timed in turns."""
    pair = (made, dense)
    timed: list[dict[int, Timing]] = [{}, {}]
    if all(one.session is not None for one in pair):
        for batch in BATCHES:
            shown = {INPUT: images[:batch].numpy()}
            calls = [partial(one.session.run, [OUTPUT], shown) for one in pair if one.session is not None]
            for times, timing in zip(timed, timings(calls), strict=True):
                times[batch] = timing
    on_card: list[dict[int, Timing]] = [{}, {}]
    if torch.cuda.is_available() and made.network is made.counted:
        for batch in BATCHES:
            found = device_timings([one.network for one in pair], images[:batch], torch.device("cuda"))
            for times, timing in zip(on_card, found, strict=True):
                times[batch] = timing
    return _cost(made, images, timed[0], on_card[0]), _cost(dense, images, timed[1], on_card[1])


def _cost(one: ModelFiles, images: Tensor, timed: dict[int, Timing], on_card: dict[int, Timing]) -> Costs:
    content = one.contents.get("model.safetensors") or one.contents["model.pt2"]
    counts = weight_counts(one.counted)
    return Costs(
        **counts,
        macs=macs(one.counted, images),
        bytes=one.n_bytes,
        bytes_zipped=zipped(content),
        milliseconds=timed,
        cuda_milliseconds=on_card,
    )


def _record(study: Study, order: Order, trained: Trained, found: _Evidence) -> Shipped:
    examples = study.examples(examples_name(trained.spec))
    labels, compared = examples["label"].to_numpy(), found.compared
    facts = origin(study, trained, order.run)
    by = list(found.equal)[-1]
    return Shipped(
        **facts,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        sparsity=sparsity_of(study, order.run, order.level),
        accuracy=float((compared.answers == labels).mean()),
        baseline_run=compared.baseline_run,
        baseline_level=compared.baseline_level,
        baseline_accuracy=None if compared.baseline is None else float((compared.baseline == labels).mean()),
        n_answers=len(labels),
        n_equal=found.equal[by],
        n_equal_torch=found.equal["torch"],
        answers_by=by,
        costs=cost_facts(found.costs),
        dense_costs=cost_facts(found.dense_costs),
        timed_on=processor_name(),
        groups=group_rows(examples, facts["classes"], compared),
        notes=list(found.made.notes),
        files={},
        decision=order.decision,
    )
