"""What a study and its examples are, in one digest each, so that a record can say which ones it is about."""

import hashlib

from engine.store.files import file_digest
from engine.store.run_files import SPEC
from engine.store.study import Study


def study_digest(study: Study) -> str:
    """SHA-256 over every run's key and the digest of its spec.json, which holds the digests of the run's files."""
    whole = hashlib.sha256()
    for key in study.runs():
        whole.update(f"{key} {file_digest(study.read_bytes(f'runs/{key}/{SPEC}'))}\n".encode())
    return whole.hexdigest()


def data_digest(study: Study, examples: str) -> str:
    """SHA-256 of the table of test examples: their labels, groups and attributes."""
    return file_digest(study.read_bytes(f"examples/{examples}.parquet"))
