"""Recall distortion: whether pruning widens the gaps between classes that were there."""

from engine.analysis.distortion.alpha import intensification as intensification
