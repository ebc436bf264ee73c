"""A second try that does not hide: `pytest.mark.rerun_once("why")` allows one, and the end says how many there were."""

from typing import Any

import pytest
from _pytest.runner import runtestprotocol

MARK = "rerun_once"


class Reruns:
    """The plugin: tries again what is marked and fails, and counts it wherever it ran."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Run a marked test, once more where it fails; others are left to pytest."""
        mark = item.get_closest_marker(MARK)
        if mark is None:
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        if any(report.failed for report in reports):
            item._initrequest()  # type: ignore[attr-defined]  # fresh fixtures, as at the first try
            note_second_try(item, _reason(mark))
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a second try; reports reach this process from all others."""
        if report.when == "teardown":
            self.reasons += [f"{report.nodeid}: {text}" for name, text in report.user_properties if name == MARK]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say how many second tries there were, none too."""
        for reason in self.reasons:
            terminalreporter.write_line(f"second try: {reason}")
        terminalreporter.write_line(f"reruns: {len(self.reasons)}")


def note_second_try(item: pytest.Item, reason: str) -> None:
    """Count a second try of a test, or of a step within one."""
    item.user_properties.append((MARK, reason))


def _reason(mark: pytest.Mark) -> str:
    """Why a second try is allowed; a mark without its reason is refused."""
    if len(mark.args) != 1 or not isinstance(mark.args[0], str):
        raise pytest.UsageError(f"{MARK} takes one sentence that says why; got {mark.args}")
    return mark.args[0]
