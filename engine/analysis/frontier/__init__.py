"""Operating points, which of them no other beats, the choice among them and how sure it is."""

from engine.analysis.frontier.points import pareto_front as pareto_front
from engine.analysis.frontier.three_objectives import pareto_front_3d as pareto_front_3d
