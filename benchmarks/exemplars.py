"""How much faster exemplars of 30 + 30 networks on 60,000 examples are than one by one, with equal results."""

import resource
import time
from collections import Counter

import numpy as np

from engine.analysis.examples.exemplars import divergence, exemplar_accuracy

N_MODELS, N_EXAMPLES, N_CLASSES = 30, 60_000, 10
MOST_SECONDS, MOST_MEGABYTES = 1.0, 500.0


def plain_divergence(dense: np.ndarray, compressed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Taxicab score and modal mark of each example, from one Counter per example and population."""
    scores, modal = [], []
    for before, after in zip(dense.T.tolist(), compressed.T.tolist(), strict=True):
        mine, theirs = Counter(before), Counter(after)
        scores.append(sum(abs(mine[name] - theirs[name]) for name in {*mine, *theirs}))
        modes = [{name for name, n in counts.items() if n == max(counts.values())} for counts in (mine, theirs)]
        modal.append(not modes[0] & modes[1])
    return np.array(scores), np.array(modal)


def run() -> float:
    """The seconds of the plain computation over those of the engine, with the accuracy table in the engine's."""
    labels, dense, compressed = _populations()
    before = _megabytes()
    start = time.perf_counter()
    found = divergence(dense, compressed, N_CLASSES)
    counted = time.perf_counter() - start
    table = exemplar_accuracy(labels, dense, compressed, found)
    seconds, megabytes = time.perf_counter() - start, _megabytes()
    start = time.perf_counter()
    scores, modal = plain_divergence(dense, compressed)
    plain_seconds = time.perf_counter() - start
    np.testing.assert_array_equal(found.taxicab, scores)
    np.testing.assert_array_equal(found.modal, modal)
    print(
        f"{N_MODELS} + {N_MODELS} networks, {N_EXAMPLES:,} examples: {plain_seconds:.1f} s plain, {counted:.2f} s "
        f"here, {seconds:.2f} s with the {len(table)} rows of accuracy; the process peaks at {megabytes:.0f} MB, "
        f"{megabytes - before:.0f} MB more than before. {found.modal.sum():,} modal, {found.tied.sum():,} with a tie."
    )
    assert seconds < MOST_SECONDS, f"{seconds:.2f} s; allowed are {MOST_SECONDS} s"
    assert megabytes < MOST_MEGABYTES, f"{megabytes:.0f} MB; allowed are {MOST_MEGABYTES} MB"
    return plain_seconds / counted


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _populations() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    labels = random.integers(0, N_CLASSES, N_EXAMPLES)
    said = []
    for bias in (0.0, 0.1):
        wrong = random.random((N_MODELS, N_EXAMPLES), np.float32) < (random.beta(0.3, 2, N_EXAMPLES) + bias)
        other = random.integers(1, N_CLASSES, (N_MODELS, N_EXAMPLES), dtype=np.uint8)
        said.append(((labels.astype(np.uint8) + wrong * other) % N_CLASSES).astype(np.uint8))
    return labels, *said
