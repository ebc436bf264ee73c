"""The list of packages; all else about the build is in pyproject.toml, which cannot add to a list that it finds."""

import shutil

from setuptools import find_packages, setup

ROOMS = find_packages(include=["engine", "engine.*", "prunescope"])
PAGES = ["pages", *(f"pages.{name}" for name in find_packages("pages"))]
LAID_WITHIN = ["pages.settings", "pages.studies.demo"]
"""Folders from elsewhere in the repository, by `package-dir`."""

# A build takes all that the last one left there, modules that were moved since among them.
shutil.rmtree("build/lib", ignore_errors=True)
setup(packages=[*ROOMS, *PAGES, *LAID_WITHIN])
