"""From the button Import to a study: the files on disk, the queue, how far it is, and what came in."""

import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from engine.errors import PruneScopeError
from engine.exchange.mapping import ColumnMapping
from engine.exchange.sandbox import Imported, Source
from engine.exchange.sources.several import path_facts
from engine.jobs.import_process import ImportRequest
from engine.jobs.import_queue import IMPORTS, QueuedImport
from engine.store.files import make_folder, remove_folder, temporary_beside
from pages.shared import formats
from pages.shared.cache import catalog as load
from pages.shared.session.access import person, writing

AT_ONCE = 3.0
"""Seconds that a page waits for a small import before it shows that it is under way."""
EVERY_SECONDS = 1.0
ARRIVING, VISITOR = "arriving", "visitor"
"""Where a session keeps the import that it waits for, with the file that it was of, and what tells it from others."""


@contextmanager
def on_disk(file: UploadedFile, sidecar: UploadedFile | None) -> Iterator[Source]:
    """The uploaded files where a child can read them; gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="prunescope-") as folder:
        yield _put(Path(folder), file, sidecar)


def _put(folder: Path, file: UploadedFile, sidecar: UploadedFile | None, more: Sequence[UploadedFile] = ()) -> Source:
    """The uploaded files, now in the folder; `more` are read with the first, as one table."""
    path = folder / "upload"
    path.write_bytes(file.getbuffer())
    sidecar_path = None
    if sidecar is not None:
        sidecar_path = folder / "sidecar"
        sidecar_path.write_bytes(sidecar.getbuffer())
    others = []
    for number, other in enumerate(sorted(more, key=lambda upload: upload.name)):
        beside = folder / f"upload-{number}"
        beside.write_bytes(other.getbuffer())
        others.append(Source(beside, other.name, None, path_facts(Path(other.name))))
    return Source(path, file.name, sidecar_path, path_facts(Path(file.name)), "", tuple(others))


def bring_in(
    files: Sequence[UploadedFile], sidecar: UploadedFile | None, mapping: ColumnMapping, target: tuple[str, str]
) -> None:
    """Put the import into the queue; a sentence on the page where that is refused."""
    study, dataset = target
    if "dataset" not in mapping.columns:
        mapping = msgspec.structs.replace(mapping, constants=mapping.constants | {"dataset": dataset})
    root = load.studies_root().resolve()
    path = (root / study).resolve()
    if path.parent != root:
        st.error("**This study lies elsewhere.** Choose another name.", icon=":material/error:")
        return
    folder = temporary_beside(root / "upload")
    try:
        with writing():
            make_folder(folder)
            source = _put(folder, files[0], sidecar, files[1:])
            request = ImportRequest(source, path, mapping, Path(files[0].name).stem, person())
            visitor = st.session_state.setdefault(VISITOR, uuid.uuid4().hex)
            queued = IMPORTS.add(request, folder, visitor)
    except (PruneScopeError, OSError) as error:
        remove_folder(folder)
        st.error(f"**Nothing was imported.** {formats.plain(error)}", icon=":material/error:")
        return
    st.session_state[ARRIVING] = files[0].file_id, queued
    with st.spinner("Importing …"):
        queued.wait(AT_ONCE)


def show_arrival(file: UploadedFile) -> None:
    """How far the import of this file is, if it was asked for, and then what came in."""
    file_id, queued = st.session_state.get(ARRIVING) or ("", None)
    if queued is None or file_id != file.file_id:
        return
    if queued.state != "ended":
        _watched(queued)
        return
    try:
        show_done(queued.result(), queued.request.study.name)
    except PruneScopeError as error:
        st.error(f"**Nothing was imported.** {formats.plain(error)}", icon=":material/error:")


@st.fragment(run_every=EVERY_SECONDS)
def _watched(queued: QueuedImport) -> None:
    if queued.state == "ended":
        st.rerun()
    st.info(under_way(queued, IMPORTS.ahead_of(queued)), icon=":material/hourglass_top:")


def under_way(queued: QueuedImport, n_ahead: int) -> str:
    """How far an import is, in a sentence or two."""
    if queued.state == "waiting":
        imports = "One import is" if n_ahead == 1 else f"{formats.count(n_ahead)} imports are"
        return f"**Waiting.** {imports} before yours. It goes on if you leave this page."
    runs = f" · {formats.count(queued.n_staged)} runs read" if queued.n_staged else ""
    return f"**Importing** · {queued.seconds:.0f} s{runs}. It goes on if you leave this page."


def show_done(imported: Imported, study: str) -> None:
    """What came in, and the ways on."""
    for summary in imported.example_sets:
        extra = ", ".join((*summary.groups, *summary.attributes)) or "none"
        st.success(
            f"**{formats.plain(study)}: {formats.count(summary.n_runs)} runs with {formats.count(summary.n_models)} "
            f"models on {formats.count(summary.n_examples)} examples of {formats.count(summary.n_classes)} classes.** "
            f"Groups and attributes: {formats.plain(extra)}. {formats.count(imported.n_new)} runs are new.",
            icon=":material/check_circle:",
        )
    with st.container(horizontal=True):
        for file, label, icon in (
            ("app.py", "Overview", ":material/home:"),
            ("pages/frontier.py", "Open the frontier", ":material/stacked_line_chart:"),
            ("pages/harmed.py", "Harmed examples", ":material/broken_image:"),
            ("pages/subgroups.py", "Subgroups", ":material/diversity_3:"),
        ):
            st.page_link(file, label=label, icon=icon, query_params={"study": study})
