"""`jobs list`, `jobs start`, `jobs stop` and `jobs log`: what the page Run does, from a terminal."""

from argparse import ArgumentParser, Namespace, _SubParsersAction
from pathlib import Path

from engine.commands.trust import add_trust
from engine.datasets.location import data_root
from engine.jobs.job import Job, find_job, jobs_of, live_job
from engine.jobs.job_request import JobRequest
from engine.jobs.start_job import go_on, start_job
from engine.jobs.stop_job import stop_job
from engine.specs.preset import load_preset, preset_names


def add(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the four."""
    parser = commands.add_parser("jobs", help="sweeps that go on by themselves: list, start, stop, log")
    actions = parser.add_subparsers(required=True, metavar="list|start|stop|log")
    for name, act, text in (
        ("list", list_jobs, "the jobs of a study and how they stand"),
        ("start", start, "begin a sweep in a process of its own, or go on with a job that was stopped"),
        ("stop", stop, "stop a job; finished runs and levels are kept"),
        ("log", show_log, "the end of a job's log"),
    ):
        action = actions.add_parser(name, help=text)
        if name == "start":
            presets = ", ".join(preset_names())
            action.add_argument("what", help=f"a TOML file, one of {presets}, or the name of a job to go on with")
            _add_size(action)
        elif name != "list":
            action.add_argument("job", nargs="?", default="", help="its name (default: the one at work, or the last)")
        if name == "stop":
            action.add_argument("--cancel", action="store_true", help="remove half-finished runs as well")
        action.add_argument("--study", required=True, help="folder of the study")
        action.set_defaults(act=act)


def _add_size(action: ArgumentParser) -> None:
    action.add_argument("--data", help="root of the data sets (default: $PRUNESCOPE_DATA, or a cache folder)")
    action.add_argument("--device", default="auto", help="cuda, mps, cpu or auto")
    action.add_argument("--workers", type=int, default=0, help="processes (default: one per core, or four per GPU)")
    action.add_argument("--hours", type=float, default=0.0, help="stop after so long (default: never)")
    action.add_argument("--gigabytes", type=float, default=0.0, help="stop once it has written so much")
    action.add_argument("--ray", metavar="ADDRESS", default="", help="run on a Ray cluster: its address, or `local`")
    add_trust(action)


def list_jobs(options: Namespace) -> None:
    """Print a line per job, the newest first."""
    jobs = jobs_of(_study(options))
    for job in jobs:
        print(job_line(job))
    if not jobs:
        print(f"{options.study} has no jobs yet.")


def start(options: Namespace) -> None:
    """Begin a job, or go on with one."""
    study = _study(options)
    if any(job.id == options.what for job in jobs_of(study)):
        job = go_on(find_job(study, options.what))
    else:
        names = ("device", "workers", "hours", "gigabytes", "ray", "trust")
        size = {name: getattr(options, name) for name in names}
        job = start_job(study, JobRequest(load_preset(options.what), str(data_root(options.data).resolve()), **size))
    print(f"Job {job.id} is at work. `python -m engine jobs list --study {options.study}` says how far it is.")


def stop(options: Namespace) -> None:
    """Stop a job and wait until it is gone."""
    job = _chosen(options)
    stop_job(job, "cancel" if options.cancel else "pause")
    print(job_line(job))
    print(f"Go on with: python -m engine jobs start {job.id} --study {options.study}")


def show_log(options: Namespace) -> None:
    """Print the end of a job's log."""
    print(_chosen(options).log(), end="")


def job_line(job: Job) -> str:
    """How a job stands, in a line."""
    state, said, owner = job.state(), job.progress(), job.owner()
    words = [f"{job.id} {state.word}"]
    if said:
        words.append(f"{said['n_there'] + said['n_done']}/{said['n_runs']} runs")
        if state.is_live and said.get("seconds_left") is not None:
            words.append(f"{said['models_a_minute']:g} models/min, {said['seconds_left'] / 60:.0f} min left")
    if owner.get("who"):
        words.append(f"by {owner['who']}")
    return ", ".join(words) + (f". {state.reason}" if state.reason else "")


def _chosen(options: Namespace) -> Job:
    study = _study(options)
    return find_job(study, options.job) if options.job else live_job(study) or find_job(study, _latest(study))


def _latest(study: Path) -> str:
    jobs = jobs_of(study)
    return jobs[0].id if jobs else ""


def _study(options: Namespace) -> Path:
    return Path(options.study).expanduser().resolve()
