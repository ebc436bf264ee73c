"""How large the runs of the study that ships are, and what a million like them would take."""

from statistics import mean

from docs.made.study import Demo
from pages.shared import formats

SECONDS_A_YEAR = 365.25 * 24 * 3600
MILLION = 1_000_000


def size_words(demo: Demo) -> str:
    """Runs, models, predictions, bytes and seconds, and the same for a million runs."""
    study = demo.study
    runs = study.runs()
    files = [list((study.path / "runs" / run).iterdir()) for run in runs]
    n_bytes = sum(path.stat().st_size for folder in files for path in folder)
    n_predictions = int(study.classes()["n"].sum())
    seconds = mean(float(study.run_record(run).provenance["seconds"]) for run in runs)
    n_files, count = mean(map(len, files)), formats.count
    return (
        f"The shipped study has {count(len(runs))} runs, {count(len(study.levels()))} models and "
        f"{count(n_predictions)} predictions: {count(n_predictions // len(runs))} a run. A run takes "
        f"{n_bytes / len(runs) / 1000:.0f} kB, in {n_files:.1f} files on average, and a folder: "
        f"{n_bytes / n_predictions:.2f} bytes a prediction. It took {seconds:.0f} seconds of one core. A million such "
        f"runs are {MILLION * seconds / SECONDS_A_YEAR:.1f} years of one core, or {MILLION * seconds / 3_600_000:.0f} "
        f"hours of a thousand; a thousand cores finish {1000 / seconds:.1f} runs a second, and a million folders hold "
        f"{n_files:.1f} million files and {n_bytes / len(runs) / 1000:.0f} GB."
    )
