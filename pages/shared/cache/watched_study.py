"""A study that pages may go on with when a file of it is damaged: without the run that the file belongs to."""

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import streamlit as st

from engine.errors import PruneScopeError
from engine.store import catalog
from engine.store.run_files import RunRecord
from engine.store.study import Study


class WatchedStudy(Study):
    """A study that leaves a run out once a page finds a file of it damaged; the page then begins anew without it."""

    def run_record(self, key: str) -> RunRecord:
        """What the run's spec.json says."""
        with self._watched(key):
            return super().run_record(key)

    def run_file(self, key: str, name: str, record: RunRecord | None = None) -> bytes:
        """Content of one file of a run."""
        with self._watched(key):
            return super().run_file(key, name, record)

    def run_rows(self, key: str, name: str, record: RunRecord | None = None) -> pa.Table:
        """A table of one run as it is kept."""
        with self._watched(key):
            return super().run_rows(key, name, record)

    @contextmanager
    def _watched(self, key: str) -> Iterator[None]:
        try:
            yield
        except PruneScopeError as error:
            if not (self.path / "runs" / key).is_dir():
                raise  # set aside or removed meanwhile: the next rerun sees that
            catalog.leave_out(self, key, str(error))
            st.rerun()  # does nothing where no page is drawn
            raise
