"""What is said about the command lines of a prompt."""

from hypothesis import given
from hypothesis import strategies as st

from katod.command.grammar import parse_message
from katod.command.hint import hints
from tests.examples import texts
from tests.looping import each

LINES = st.sampled_from(
    ["::start", "::strat", " ::stop", "::start a b c", "```", "hello", "::export +x", ":: start", "::"]
)


@each(
    "line, hint",
    [
        ("::strat", '"::strat" is not a command; did you mean "::start"?'),
        ("::Exprot x.md", '"::Exprot" is not a command; did you mean "::export"?'),
        (":: start", "this is not a command: begin the line with `::start`, without a space"),
        ("::start please look", 'this is not a command: quote a name that has spaces, as in `::start "login page"`'),
        ("::stop it", "this is not a command: `::stop` takes no name"),
        (
            "::start +quiet",
            "this is not a command: the options are +thinking, -thinking, +tools and -tools",
        ),
    ],
)
def test_each_mistake_has_its_advice(line, hint):
    """The advice says how the line becomes a command."""
    assert hints(f"words\n{line}\nmore words") == (False, (hint,))


@given(st.lists(LINES | texts(max_size=10)).map("\n".join))
def test_hints_are_given_for_what_the_grammar_says(prompt):
    """A prompt has commands, and lines that resemble one, exactly where katod finds them."""
    found, parsed = hints(prompt), parse_message(prompt)
    assert found.commands == bool(parsed.commands)
    assert bool(found.near_misses) == bool(parsed.near_misses)


def test_the_same_mistake_is_named_once():
    """A long list of mistakes is cut."""
    assert len(hints("::strat\n" * 50).near_misses) == 1
    assert len(hints("::strat\n::stpo\n::exprt\n::captur\n ::stop").near_misses) == 3
