"""Markdown of katod's as it is shown."""

from katod.search.markup import plain


def test_markdown_is_shown_without_its_escapes():
    """Escapes, entities and tags are not what was said."""
    assert plain(r"a\_b &lt;c&gt; <b>Bash</b> \<div>") == "a_b <c> Bash <div>"
