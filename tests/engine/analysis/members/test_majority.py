"""What most seeds predict, and what became of it."""

import numpy as np

from engine.analysis.members.majority import majority, outcomes


def test_majority_prefers_the_right_class_at_a_tie() -> None:
    vote = majority(np.array([[1, 5, 2], [1, 7, 3], [4, 5, 9], [4, 5, 0]]), np.array([4, 7, 9]))
    assert vote.prediction.tolist() == [4, 5, 9] and vote.right.tolist() == [0.5, 0.25, 0.25]


def test_outcomes_tell_lost_from_gained() -> None:
    labels = np.array([0, 1, 2, 3])
    before, after = (majority(np.array(predictions), labels) for predictions in ([0, 1, 9, 9], [0, 7, 2, 8]))
    assert outcomes(before, after, labels).tolist() == ["right", "lost", "gained", "both"]
