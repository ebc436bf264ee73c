"""Tests that run beside each other compute on one thread each: pools of threads on shared cores wait by spinning."""

import os

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.update(ONE_THREAD)  # before anything loads numpy or torch, and for the processes that tests start
