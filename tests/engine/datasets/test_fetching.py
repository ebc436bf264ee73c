"""A download in a child: how far it is, that it ended well, and one sentence where it did not."""

from pathlib import Path

import pytest

from engine.datasets.fetching import Fetching, last_percent
from engine.datasets.location import data_root


def ended(fetching: Fetching) -> Fetching:
    assert fetching.wait(120)
    return fetching


def test_a_data_set_that_is_there_is_checked_and_ends_well() -> None:
    if not (data_root() / "FashionMNIST" / "raw").is_dir():
        pytest.skip("Fashion-MNIST is not on this machine")
    assert ended(Fetching("fashion-mnist", data_root())).failure == ""


def test_without_a_network_the_reason_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("https_proxy", "http_proxy", "HTTPS_PROXY", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # where nobody listens
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    fetching = Fetching("cifar10", tmp_path)
    assert fetching.failure == "" or not fetching.is_running
    failure = ended(fetching).failure
    assert failure.startswith("CIFAR-10 could not be fetched into") and "\n" not in failure


def test_the_percent_is_the_last_that_the_child_said(tmp_path: Path) -> None:
    assert ended(Fetching("digits", tmp_path)).percent is None
    assert last_percent("\r  7%|▋    | 1/14\r 43%|████  | 6.0M/14M [00:01<00:02]") == 43
    assert last_percent("Fetching cifar10 into 50% ...") is None
