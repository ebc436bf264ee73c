"""One example through the levels, by hand."""

import numpy as np

from engine.analysis.examples.vote_path import Stretch, usual_path


def test_a_path_has_a_stretch_for_every_change_of_the_usual_label() -> None:
    counts = np.array([[0, 6, 0], [1, 5, 0], [4, 2, 0], [6, 0, 0]])
    assert usual_path(counts, [0, 1, 2, 5]) == [Stretch(1, 0, 1), Stretch(0, 2, 5)]


def test_a_tie_keeps_the_label_of_the_level_before() -> None:
    assert usual_path(np.array([[0, 4], [2, 2], [3, 1]]), [0, 1, 2]) == [Stretch(1, 0, 1), Stretch(0, 2, 2)]
    assert usual_path(np.array([[2, 2]]), [0]) == [Stretch(0, 0, 0)]


def test_an_example_that_never_changes_has_one_stretch() -> None:
    assert usual_path(np.full((3, 2), [5, 1]), [0, 3, 4]) == [Stretch(0, 0, 4)]
