"""The finished levels of a run that is not finished: kept one by one, and read again only if each is what was written.

Where a run stands is kept for the last two levels, so that one damaged file costs one level and not the run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from engine.errors import PruneScopeError
from engine.runs.checkpoints import Tensors, load_result, load_states, save_result, save_states
from engine.store.files import checked_tensors
from engine.store.run_files import checkpoint_name
from engine.store.run_tables import LevelResult


@dataclass(frozen=True)
class Resumed:
    """What is left of the work on a run: what each level came to with its seconds, weights and masks after the last.

    `damaged` names the files that are there and are not what was written for this run and level.
    """

    results: list[tuple[LevelResult, float]]
    states: dict[str, Tensors]
    damaged: list[str]

    @property
    def words(self) -> str:
        """What was damaged and what is done about it, in a sentence; empty where nothing was."""
        if not self.damaged:
            return ""
        verb = "was" if len(self.damaged) == 1 else "were"
        where = f"level {len(self.results)}" if self.results else "the dense network"
        return f"{', '.join(self.damaged)} {verb} damaged or of another engine: the run goes on from {where}."


class WorkFiles:
    """The folder in which a run keeps its levels while it works."""

    def __init__(self, folder: Path, key: str, has_checkpoints: bool) -> None:
        self.folder, self.key, self.has_checkpoints = folder, key, has_checkpoints

    def keep(self, result: LevelResult, seconds: float, weights: Tensors, states: dict[str, Tensors]) -> None:
        """Make this level the one that the run resumes from: what it said first, its weights, where the run stands."""
        name = _outcome(result.level)
        save_result(self.folder / name, result, seconds, self._place(name))
        if self.has_checkpoints:
            name = checkpoint_name(result.level)
            save_states(self.folder / name, {"weights": weights}, self._place(name))
        states = {**states, "level": {"level": torch.tensor(result.level)}}
        save_states(self.folder / _state(result.level), states, self._place(_state(result.level)))

    def resume(self, levels: Sequence[int], device: torch.device) -> Resumed:
        """The most levels, of those planned, that are whole up to one whose weights and masks are."""
        damaged: list[str] = []
        found: dict[int, dict[str, Tensors]] = {}
        for name in (_state(0), _state(1)):
            states = load_states(self.folder / name, device, self._place(name))
            if states is not None:
                found[int(states["level"]["level"])] = states
            elif (self.folder / name).exists():
                damaged.append(self._place(name))
        results: list[tuple[LevelResult, float]] = []
        for level in (level for level in levels if level <= max(found, default=0)):
            result = self._whole_level(level, damaged)
            if result is None:
                break
            results.append(result)
        last = max((level for level in found if level <= len(results)), default=0)
        return Resumed(results[:last], found.get(last, {}), damaged)

    def checkpoint(self, level: int) -> bytes:
        """The file of the weights of a level, as it was written."""
        name = checkpoint_name(level)
        try:
            return checked_tensors(self.folder / name, self._place(name))
        except (OSError, ValueError) as error:
            raise PruneScopeError(f"{self._place(name)} is damaged: {error}. Start the run again.") from error

    def _whole_level(self, level: int, damaged: list[str]) -> tuple[LevelResult, float] | None:
        """What a level came to; None where a file of it is absent or, noted in `damaged`, not what was written."""
        name = _outcome(level)
        result = load_result(self.folder / name, self._place(name))
        if result is None or result[0].level != level:
            damaged += [self._place(name)] if (self.folder / name).exists() else []
            return None
        name = checkpoint_name(level)
        if self.has_checkpoints and load_states(self.folder / name, torch.device("cpu"), self._place(name)) is None:
            damaged += [self._place(name)] if (self.folder / name).exists() else []
            return None
        return result

    def _place(self, name: str) -> str:
        return f"{self.key}/{name}"


def _outcome(level: int) -> str:
    return f"level-{level:03d}.outcome"


def _state(level: int) -> str:
    return f"state-{level % 2}.safetensors"
