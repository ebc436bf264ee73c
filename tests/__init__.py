"""Tests; a package, so that they share the tiny data sets of tests.tiny."""
