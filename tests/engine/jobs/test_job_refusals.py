"""What a job is not begun for, each with its sentence; and that nothing is left behind then."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from engine.access import AccessError, Person, acting_as
from engine.errors import PruneScopeError
from engine.jobs import job_limits
from engine.jobs.job import Job, find_job, jobs_of
from engine.jobs.job_limits import JobLimits, limits_here, within_limits
from engine.jobs.job_request import JobRequest, read_request, runs_of
from engine.jobs.job_size import job_size
from engine.jobs.start_job import go_on, start_job
from engine.jobs.stop_job import stop_job
from tests.support.jobs import small_request


def test_a_request_comes_back_as_it_was(tmp_path: Path) -> None:
    request = replace(small_request(tmp_path), hours=1.5, ray="local", trust=True)
    assert read_request(request.content()) == request


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b'{"schema": 99}', b'{"schema": 1, "runs": 3}', b"\xff", b"[" * 100_000]
)
def test_a_damaged_request_is_refused(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(PruneScopeError):
        read_request(content)
    job = Job(tmp_path, "broken")
    job.folder.mkdir(parents=True)
    (job.folder / "request.json").write_bytes(content)
    assert job.state().word == "failed" and job.state().reason


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"workers": -1}, "workers is -1"),
        ({"workers": 99}, "at most 4 processes"),
        ({"hours": float("nan")}, "hours is nan"),
        ({"hours": 25.0}, "at most 24 hours"),
        ({"gigabytes": "much"}, "gigabytes is 'much'"),
    ],
)
def test_more_than_is_allowed_is_refused(change: dict[str, object], words: str, tmp_path: Path) -> None:
    request = replace(small_request(tmp_path), **change)
    with pytest.raises(PruneScopeError, match=words):
        within_limits(request, JobLimits(4, 24, 10))


def test_what_is_left_open_is_filled_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRUNESCOPE_JOB_HOURS", "24")
    monkeypatch.setenv("PRUNESCOPE_JOB_WORKERS", "3")
    filled = within_limits(small_request(tmp_path), limits_here())
    assert (filled.hours, filled.workers) == (24.0, 1)
    monkeypatch.setenv("PRUNESCOPE_JOB_HOURS", "a day")
    with pytest.raises(PruneScopeError, match="PRUNESCOPE_JOB_HOURS is 'a day'"):
        limits_here()


def _nothing(study: Path, request: JobRequest) -> JobRequest:
    return replace(request, preset=replace(request.preset, specs=()))


def _there(study: Path, request: JobRequest) -> JobRequest:
    for key in request.keys:
        (study / "runs" / key).mkdir(parents=True)
    return request


def _imported(study: Path, request: JobRequest) -> JobRequest:
    study.mkdir()
    (study / "study.toml").write_text("imported = true\n")
    return request


def _full(study: Path, request: JobRequest) -> JobRequest:
    many = (replace(spec, seed=seed, levels=1000) for spec in request.preset.specs for seed in range(3_000))
    return replace(request, preset=replace(request.preset, specs=tuple(many)))


@pytest.mark.parametrize(
    ("make", "words"),
    [(_nothing, "nothing to run"), (_there, "there already"), (_imported, "were brought"), (_full, "Make room")],
)
def test_what_cannot_begin_says_why(make: Callable[..., JobRequest], words: str, tmp_path: Path) -> None:
    study = tmp_path / "study"
    with pytest.raises(PruneScopeError, match=words):
        start_job(study, make(study, small_request(tmp_path)))
    assert jobs_of(study) == []


def test_a_full_disk_is_said_before_anything_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_limits, "SPARE_GIGABYTES", 1e9)
    with pytest.raises(PruneScopeError, match="GB are free on the disk"):
        start_job(tmp_path / "study", small_request(tmp_path))
    assert not (tmp_path / "study").exists()


def test_nobody_begins_goes_on_or_stops_where_they_may_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = tmp_path / "study"
    job = Job(study, "one")
    job.folder.mkdir(parents=True)
    (job.folder / "request.json").write_bytes(small_request(tmp_path).content())
    acts = (
        lambda: start_job(study, small_request(tmp_path)),
        lambda: go_on(job),
        lambda: stop_job(job, "cancel"),
    )
    for mode, person in (("demo", Person("eve")), ("sign-in", None), ("sign-in", Person("vic", "viewer"))):
        monkeypatch.setenv("PRUNESCOPE_ACCESS", mode)
        for act in acts:
            with acting_as(person), pytest.raises(AccessError):
                act()
    assert sorted(path.name for path in study.rglob("*")) == ["jobs", "one", "request.json"]


def test_an_unknown_job_is_named_with_those_that_exist(tmp_path: Path) -> None:
    with pytest.raises(PruneScopeError, match="there is none"):
        find_job(tmp_path, "x")


def test_size_counts_what_is_missing(tmp_path: Path) -> None:
    request = small_request(tmp_path, levels=3)
    (tmp_path / "runs" / request.keys[0]).mkdir(parents=True)
    size = job_size(request.preset.specs, tmp_path)
    assert (size.n_runs, size.n_models, size.n_missing, size.n_missing_models) == (2, 8, 1, 4)
    assert not size.is_measured and size.gigabytes > 0


def test_runs_of_changes_are_checked_and_each_once(tmp_path: Path) -> None:
    base = small_request(tmp_path).preset.specs[0]
    found = runs_of(base, [{"seed": 5}, {"seed": 6}, {"seed": 5}])
    assert [spec.seed for spec in found] == [5, 6] and {replace(spec, seed=0) for spec in found} == {base}
    with pytest.raises(PruneScopeError, match="seed is -1"):
        runs_of(base, [{"seed": -1}])
