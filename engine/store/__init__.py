"""The record: a study's runs, examples and catalog as files, written whole and checked when read."""

from engine.store.study import Study as Study
