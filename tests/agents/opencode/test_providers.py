"""OpenCode: where the provider of the model changed."""

from typing import Any

from katod.agents.opencode.providers import Providers
from tests.looping import each

Row = dict[str, Any]


def message(native: str, provider: Any = "one", **more: Any) -> Row:
    return {"id": native, "providerID": provider} | more


def change(after: str, before: str = "") -> Row:
    return {"what": "modelProvider"} | ({"before": before} if before else {}) | {"after": after}


def test_the_first_provider_and_each_other_one_are_changes() -> None:
    """Messages of the same provider as the one before are none."""
    found = [message("m1"), message("m2"), message("m3", "two"), message("m4", "two"), message("m5")]
    providers = Providers()
    assert [providers.change(row) for row in found] == [
        change("one"),
        {},
        change("two", "one"),
        {},
        change("one", "two"),
    ]


def test_a_message_that_is_read_again_is_what_it_was() -> None:
    """A document is read again from some message on: the same messages are changes, after a restart, too."""
    found = [message("m1"), message("m2"), message("m3", "two"), message("m4", "two")]
    providers = Providers()
    first = [providers.change(row) for row in found]
    for start in range(4):
        again = Providers([list(row) for row in providers.state()])
        assert [again.change(row) for row in found[start:]] == first[start:]


def test_few_changes_are_remembered() -> None:
    """What is older than those that are remembered is no change when it is read again."""
    providers = Providers()
    for number in range(100):
        assert providers.change(message(f"m{number:03}", f"p{number % 2}"))
    assert len(providers.state()) == 16
    assert providers.change(message("m000", "p0")) == {}
    assert providers.change(message("m099", "p1")) == change("p1", "p0")


def test_the_numbers_of_opencode_2_order_its_messages() -> None:
    """Ids do not order the messages there; a session of OpenCode 1 goes on with its provider."""
    providers = Providers()
    assert providers.change(message("m5")) == change("one")
    assert Providers().change(message("m5", seq=0)) == change("one")
    numbered = Providers()
    assert [numbered.change(message("", name, seq=seq)) for seq, name in enumerate(("one", "two"))] == [
        change("one"), change("two", "one"),
    ]  # fmt: skip
    rows = [message("m9", seq=9), message("m1", "two", seq=10), message("m5", "two", seq=11)]
    assert [providers.change(row) for row in rows] == [{}, change("two", "one"), {}]
    assert [providers.change(row) for row in rows] == [{}, change("two", "one"), {}]


@each("info", [{}, {"providerID": "one"}, message("m1", ["one"]), message("m1", ""), message("m1", "x" * 5_000)])
def test_a_message_without_a_plausible_provider_or_id_is_no_change(info: Row) -> None:
    """Values of other types, and names that are far too long, are left out."""
    providers = Providers()
    assert (providers.change(info), providers.state()) == ({}, [])
