"""What the Run page says: how a job stands, how large one would be, what a close call needs."""

from typing import Any

from engine.analysis.uncertainty.seeds_needed import SeedsNeeded
from engine.jobs.job import JobState
from engine.jobs.job_size import JobSize
from pages.shared import formats


def headline(state: JobState | None, said: dict[str, Any], title: str, study: str) -> str:
    """The answer: what runs, how far it is and how long it still takes; or that nothing does."""
    name, place = formats.plain(title), formats.plain(study)
    if state is None:
        return (
            f"**Nothing has been run from here in {place}.** Choose what to run; finished runs join every page at once."
        )
    n, done = said.get("n_runs", 0), said.get("n_there", 0) + said.get("n_done", 0)
    far = f"{formats.count(done)} of {formats.count(n)} runs are finished" if n else "it is about to begin"
    if state.word == "running":
        left = said.get("seconds_left")
        rest = f", about {duration(left)} left" if left is not None else ""
        return f"**{name} is running in {place}**: {far}{rest}."
    if state.word == "stopping":
        return f"**{name} is stopping.** What is finished stays."
    if state.word == "done":
        return f"**{name} is done**: all {formats.count(n) if n else ''} runs are in {place}.".replace("all  ", "all ")
    if state.word == "failed":
        return f"**{name} has failed.** {formats.plain(short(state.reason))}"
    return f"**{name} has stopped**: {far}. {formats.plain(short(state.reason))} It can go on from there."


def size_sentence(size: JobSize) -> str:
    """How large the job is and what of it is there."""
    runs, models = formats.count(size.n_runs), formats.count(size.n_models)
    if not size.n_missing:
        return f"**{runs} runs, {models} models: all of them are there already.** There is nothing to start."
    there = size.n_runs - size.n_missing
    known = f"Of the {runs} runs, {formats.count(there)} are there already. " if there else ""
    return (
        f"**{_n(size.n_missing, 'run')}, {_n(size.n_missing_models, 'model')} to compute.** "
        f"{known}They take about {room(size.gigabytes)} on the disk."
    )


def seeds_sentence(needed: SeedsNeeded, chosen: str, rival: str) -> str:
    """How many seeds would tell the choice from its rival."""
    if needed.n != needed.n:
        return f"**More seeds would not settle it.** {chosen} and {rival}: {needed.reason}."
    more = int(needed.n) - needed.n_now
    if more <= 0:
        return (
            f"**{formats.count(needed.n_now)} seeds are enough**: {chosen} and {rival} differ more than seeds do. "
            "What is close here is not for want of seeds."
        )
    return (
        f"**About {_n(more, 'more seed')} would settle it**: with {formats.count(needed.n)} in all, a test at 95 % "
        f"tells {chosen} from {rival} in 4 of 5 studies, if they differ as they do so far."
    )


def duration(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 90:
        return _n(max(1, round(seconds)), "second")
    return _n(round(seconds / 60), "minute") if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def room(gigabytes: float) -> str:
    """Room on a disk."""
    return f"{gigabytes:.1f} GB" if gigabytes >= 1 else f"{max(1, round(1000 * gigabytes)):,} MB"


def short(text: str, most: int = 400) -> str:
    """A reason that may be long."""
    return text if len(text) <= most else f"{text[:most]} …"


def _n(n: float, noun: str) -> str:
    return f"{formats.count(n)} {noun}{'s' * (n != 1)}"
