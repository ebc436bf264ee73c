"""Shipping in a process of its own: started by a click, watched by its folder, whoever looks; needs no torch.

The folder holds `started.json` (which process), `progress.json` (what it says of itself), `log.txt`, and at the end the
model's own folder, which appears whole. How it stands is read off these files; nothing else claims a state.
"""

import hashlib
import io
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine.access import check_may_write
from engine.errors import PruneScopeError
from engine.pruning.schedules import planned_levels
from engine.shipping.ship_folder import SUMS
from engine.store.files import make_folder, one_at_a_time, remove_folder, write_file
from engine.store.process_identity import ProcessIdentity, is_alive, process_here
from engine.store.run_files import checkpoint_name
from engine.store.study import Study
from engine.study_folders import SOURCE

MODEL, STARTED, PROGRESS, LOG = "model", "started.json", "progress.json", "log.txt"
KEPT_SECONDS = 86_400.0
"""After so long, what was shipped and not fetched goes."""
RUNNING, DONE, FAILED, NONE = "running", "done", "failed", "none"


@dataclass(frozen=True)
class Parcel:
    """What is to be shipped: a run of a study at a level, and the decision that chose it, where there is one."""

    study: Path
    run: str
    level: int
    decision: str = ""

    @property
    def folder(self) -> Path:
        """Where it is made: the same for everybody on this machine who asks for the same."""
        text = f"{self.study.resolve()}\n{self.run}\n{self.level}\n{self.decision}"
        return parcels_root() / hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Standing:
    """How a parcel stands: a word, the share that is done, and what it says or why it failed."""

    word: str
    share: float = 0.0
    text: str = ""


def parcels_root() -> Path:
    """This user's folder of parcels, among the system's temporary files."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    return Path(tempfile.gettempdir()) / f"prunescope-{user}" / "parcels"


def seconds_needed(study: Study, run: str, level: int) -> float:
    """About how long computing the run again up to this level takes, by how long it took; 0 with a checkpoint."""
    record = study.run_record(run)
    if checkpoint_name(level) in record.files:
        return 0.0
    trainings = len(planned_levels(record.spec)) + 1
    return float(record.provenance.get("seconds", math.nan)) * (level + 1) / trainings


def start(parcel: Parcel) -> Standing:
    """How the parcel stands now that it was asked for: one that runs or is done stays, one that failed begins again.

    Refused while another one runs: they would take the processor from each other and from the pages.
    """
    check_may_write("a model")
    root = parcels_root()
    make_folder(root)
    if os.name == "posix":
        root.chmod(0o700)
    with one_at_a_time(root):
        now = standing(parcel.folder)
        if now.word in (RUNNING, DONE):
            return now
        for other in root.iterdir():
            if other != parcel.folder and standing(other).word == RUNNING:
                raise PruneScopeError("Another model is being made on this server; try again when it is done.")
        _remove_old(root)
        remove_folder(parcel.folder)
        make_folder(parcel.folder)
        _launch(parcel)
    return standing(parcel.folder)


def standing(folder: Path) -> Standing:
    """How a parcel stands, by its folder."""
    if (folder / MODEL / SUMS).is_file():
        return Standing(DONE, 1.0)
    started, said = _read(folder / STARTED), _read(folder / PROGRESS)
    if not started:
        return Standing(NONE)
    owner = ProcessIdentity(str(started["host"]), int(started["process"]), str(started["began"]))
    if is_alive(owner):
        return Standing(RUNNING, float(said.get("share", 0.0)), str(said.get("text", "Starting.")))
    if (folder / MODEL / SUMS).is_file():  # finished since the first look
        return Standing(DONE, 1.0)
    return Standing(FAILED, text=_last_words(folder / LOG))


def stop(folder: Path) -> None:
    """End a parcel's process and remove its folder; nothing is left of it."""
    started = _read(folder / STARTED)
    if started:
        owner = ProcessIdentity(str(started["host"]), int(started["process"]), str(started["began"]))
        if is_alive(owner):
            os.kill(owner.process, 15)
            for _ in range(100):
                if not is_alive(owner):
                    break
                time.sleep(0.05)
    remove_folder(folder)


def zipped_model(folder: Path, name: str) -> bytes:
    """The finished model as a zip file with one folder in it."""
    model, content = folder / MODEL, io.BytesIO()
    if not (model / SUMS).is_file():
        raise PruneScopeError("The model is not there any more; ask for it again.")
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(model.iterdir()):
            archive.write(path, f"{name}/{path.name}")
    return content.getvalue()


def write_progress(file: Path, share: float, text: str) -> None:
    """What a process says of itself."""
    write_file(file, json.dumps({"share": round(share, 4), "text": text}).encode())


def _launch(parcel: Parcel) -> None:
    """Start the command in a session of its own, so that it outlives the server that was asked."""
    folder = parcel.folder
    words = [sys.executable, "-m", "engine", "ship", parcel.run, "--study", str(parcel.study.resolve())]
    words += ["--level", str(parcel.level), "--to", str(folder / MODEL), "--progress", str(folder / PROGRESS)]
    words += ["--decision", parcel.decision] if parcel.decision else []
    paths = [str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])]
    with open(folder / LOG, "wb") as log:
        process = subprocess.Popen(
            words,
            cwd=folder,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    write_file(folder / STARTED, json.dumps(asdict(process_here(process.pid))).encode())
    threading.Thread(target=process.wait, daemon=True).start()  # so that it is buried when it ends


def _read(file: Path) -> dict[str, Any]:
    try:
        values = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}


def _last_words(log: Path) -> str:
    """The last line that was written, which says why it ended."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return lines[-1].strip() if lines else "It ended without a word."


def _remove_old(root: Path) -> None:
    for folder in root.iterdir():
        if standing(folder).word != RUNNING and time.time() - folder.stat().st_mtime > KEPT_SECONDS:
            remove_folder(folder)
