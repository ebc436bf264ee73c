"""What a job is asked to do, as its folder keeps it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from engine.errors import PruneScopeError
from engine.run_spec import SCHEMA, RunSpec, settings, spec_from_settings
from engine.specs.checks import validate_spec
from engine.specs.experiment_names import ExperimentName
from engine.specs.preset import Preset
from engine.store.files import sealed_json, unsealed_json
from engine.store.verification.notes import REQUEST_FIELDS


@dataclass(frozen=True)
class JobRequest:
    """Runs, where their data lie, and how much of the machine they may have; 0 is as much as is allowed."""

    preset: Preset
    data: str
    device: str = "auto"
    workers: int = 0
    hours: float = 0.0
    gigabytes: float = 0.0
    ray: str = ""
    trust: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """Names of its runs."""
        return tuple(spec.key for spec in self.preset.specs)

    def content(self, job: str = "") -> bytes:
        """The request as the file of this job has it."""
        preset = self.preset
        values = {
            "schema": SCHEMA,
            "name": preset.name,
            "title": preset.title,
            "description": preset.description,
            "runs": [settings(spec) for spec in preset.specs],
            "names": [asdict(name) for name in preset.names],
            **{name: getattr(self, name) for name in _OTHERS},
            "job": job,
        }
        return sealed_json(values, indent=1)


_OTHERS = ("data", "device", "workers", "hours", "gigabytes", "ray", "trust")


def read_request(content: bytes, job: str = "") -> JobRequest:
    """The request that `content` made; one that is not whole, or was made for another job, is refused."""
    try:
        values = unsealed_json(content, [REQUEST_FIELDS])
        if values["schema"] != SCHEMA:
            raise PruneScopeError(f"This job was asked for by another version: schema {values['schema']!r}.")
        if job and values.get("job", "") not in ("", job):
            raise PruneScopeError(f"The request of job {job} is that of {values['job']}. Start a new one.")
        specs = tuple(spec_from_settings(run) for run in values["runs"])
        names = tuple(ExperimentName(**name) for name in values["names"])
        preset = Preset(str(values["name"]), str(values["title"]), str(values["description"]), specs, names)
        return JobRequest(preset, **{name: values[name] for name in _OTHERS})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise PruneScopeError(f"The job's request cannot be read: {error}. Start a new one.") from error


def runs_of(base: RunSpec, changes: Sequence[Mapping[str, Any]]) -> tuple[RunSpec, ...]:
    """The runs that differ from `base` in each of these settings, checked, each once."""
    plain = settings(base)
    specs = (validate_spec(spec_from_settings(plain | dict(change))) for change in changes)
    return tuple({spec.key: spec for spec in specs}.values())
