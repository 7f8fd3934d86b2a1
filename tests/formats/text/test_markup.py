"""HTML is a type: only a few places make it of a string, and each of these is known."""

import ast
import html
from html import unescape

import pytest
from hypothesis import given

from katod.formats.text.markup import escape, fill, join
from katod.text import clean
from tests.examples import texts
from tests.modules import modules

# The modules that make markup of a string, and of which.
MAKING = {
    "katod.formats.text.markup": "of text that is escaped, and of markup that is put together",
    "katod.formats.transcript.messages": "what the parser of Markdown and the highlighter of code return",
    "katod.formats.transcript.style": "the style sheet",
    "katod.serve.page.reader": "markup in which attributes are replaced",
}
MAKES_A_PAGE = ("katod.formats.transcript.html", "katod.formats.transcript.messages", "katod.serve.page")


def calls(module, name):
    """Return the calls of a function, by its name."""
    return [node for node in module.nodes if isinstance(node, ast.Call) and getattr(node.func, "id", "") == name]


def constants(module):
    """Return the names of the strings that a module defines without anything in them that varies."""
    assigned = [node for node in module.tree.body if isinstance(node, ast.AnnAssign) and node.value is not None]
    return {node.target.id for node in assigned if isinstance(node.value, ast.Constant)}


@pytest.mark.form
def test_markup_is_made_of_strings_in_few_modules():
    """Everywhere else, a string is no markup: the type checker says so."""
    found = {name for name, module in modules().items() if calls(module, "Markup")}
    assert found == set(MAKING)
    assert [name for name, module in modules().items() if "Markup" in map(ast.unparse, (
        node.args[0] for node in calls(module, "cast")
    ))] == []  # fmt: skip


@pytest.mark.form
def test_a_template_is_a_constant():
    """Whatever varies is given to `fill` as markup, never put into its template."""
    wrong = [
        f"{name}:{call.lineno}"
        for name, module in modules().items()
        for call in calls(module, "fill")
        if not isinstance(call.args[0], ast.Constant) and getattr(call.args[0], "id", "") not in constants(module)
    ]
    assert wrong == []


@pytest.mark.form
def test_no_tag_is_in_a_string_that_varies():
    """Modules that make pages have no f-strings with elements in them."""
    wrong = [
        f"{name}:{node.lineno}"
        for name, module in modules().items() if name.startswith(MAKES_A_PAGE)
        for node in module.nodes if isinstance(node, ast.JoinedStr)
        if any(isinstance(part, ast.Constant) and "<" in part.value for part in node.values)
    ]  # fmt: skip
    assert wrong == []


@given(texts(), texts())
def test_text_stays_text_wherever_it_is_put(words, more):
    """In an element and in an attribute; what it looks like makes no difference."""
    page = fill('<a title="{}">{}</a>', escape(words), join([escape(more), fill("<br>")]))
    assert page.count("<") == 3
    assert page.count('"') == 2
    assert unescape(escape("<{0}> & '\"'")) == "<{0}> & '\"'"


@given(texts())
def test_text_is_escaped_as_the_standard_library_does(words):
    """Whether or not there is anything to escape in it, and without control characters."""
    assert escape(words) == html.escape(clean(words))


def test_every_character_is_escaped_in_the_same_way():
    """Each alone, and within words."""
    for character in map(chr, range(0x250)):
        for words in (character, f"a{character}b", f"{character * 300}"):
            assert escape(words) == html.escape(clean(words))
