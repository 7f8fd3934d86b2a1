"""What the tests of spans that are sent share."""

from collections.abc import Iterator

import pytest

from tests.otlp.receiver import Receiver


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Return a collector on loopback."""
    with Receiver() as found:
        yield found


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offer what is new at once, and try again at once."""
    monkeypatch.setattr("katod.delivery.delivery._OFFER_EVERY", 0.0)
    for name in ("readers._FIRST_RETRY", "readers._LONGEST_RETRY", "progress._FIRST_RETRY", "progress._LONGEST_RETRY"):
        monkeypatch.setattr(f"katod.delivery.{name}", 0.01)
    monkeypatch.setattr("katod.delivery.progress._LEAST_WAIT", 0.01)
