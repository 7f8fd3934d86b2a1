"""What the tests of deliveries share."""

from collections.abc import Iterator

import pytest

from tests.matrix.homeserver import Homeserver


@pytest.fixture
def server() -> Iterator[Homeserver]:
    """Return a homeserver on loopback."""
    with Homeserver() as found:
        yield found


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offer what is new at once."""
    monkeypatch.setattr("katod.delivery.delivery._OFFER_EVERY", 0.0)
