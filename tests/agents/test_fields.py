"""Readers for the values of records."""

from hypothesis import given
from hypothesis import strategies as st

from katod.agents.fields import repository_of
from tests.examples import examples, texts
from tests.looping import each


@each(
    ("written", "kept"),
    [
        ("https://example.org/me/shop.git", "https://example.org/me/shop.git"),
        ("git@example.org:me/shop.git", "example.org:me/shop.git"),
        ("ssh://git@example.org:2222/me/shop.git", "ssh://example.org:2222/me/shop.git"),
        ("https://me:pass@word@example.org/shop?token=abc#x", "https://example.org/shop"),
        ("https://example.org/shop?key=a@b/c", ""),
        ("https://x-access-token:ghp_0123456789@example.org/shop", "https://example.org/shop"),
        ("ghp_0123456789@example.org:me/shop", "example.org:me/shop"),
    ],
)
def test_the_url_of_a_repository_says_nothing_of_who_uses_it(written: str, kept: str) -> None:
    """User name, password, query and fragment are left out."""
    assert repository_of(written) == kept


@each(
    "written",
    [
        None, ["https://example.org/shop"], {"url": 1}, 7, "", "shop", "/home/me/shop", "C:\\shop", "file:///shop",
        "https://me:12/34@example.org/shop", "https://me:secret", "https://me:a b@example.org/shop", "x" * 5_000,
    ],
)  # fmt: skip
def test_what_is_no_url_of_a_repository_is_left_out(written: object) -> None:
    """So is a URL that may contain a password in another place than before the host."""
    assert repository_of(written) == ""


@examples(3, 1_000)
@given(st.sampled_from(["https://", "ssh://", ""]), texts(max_size=12), texts(max_size=12), texts(max_size=12))
def test_no_password_is_kept(scheme: str, user: str, password: str, path: str) -> None:
    """Whatever a user name, a password and a path consist of, the password is not in the result."""
    secret = f"5ecret{password}5ecret"
    for written in (f"{scheme}{user}:{secret}@example.org/{path}", f"{scheme}{secret}@example.org:{path}"):
        assert "5ecret" not in repository_of(written)
