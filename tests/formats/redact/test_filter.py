"""The native search of redaction: with it and without it, the result is the same."""

import subprocess
import sys

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.formats.redact import engine as module
from katod.formats.redact import engine as redact_filter
from katod.formats.redact.engine import ANYTHING, NOTHING, search
from katod.formats.redact.redactor import may_contain_secret, redact, redact_json
from tests.examples import texts
from tests.looping import each

from . import published
from .foreign import cases, harmless
from .test_redactor import HIDING, PIECES, VALUE

pytest.importorskip("re2", reason="google-re2 is not installed")

# One of each kind, and what separates or hides: in texts made of these, every rule is met, and missed by a little.
CASES = tuple(cases(per_kind=1))
KINDS = sorted({sample.kind: sample.text for sample in (*CASES, *harmless(), *published.cases())}.values())


def one_of(texts):
    """Return a strategy of one of the texts that is short when it is printed."""
    return st.integers(0, len(texts) - 1).map(lambda number: texts[number])


TEXTS = st.lists(one_of(KINDS) | one_of(PIECES) | one_of(HIDING) | texts(max_size=4), max_size=8)
SCRAPS = one_of(KINDS).flatmap(
    lambda text: st.tuples(st.integers(0, len(text)), st.integers(0, len(text))).map(
        lambda cut: text[min(cut) : max(cut)]
    )
)


def without(function, value):
    """Return what the function makes of the value if there is no engine."""
    engine, module.search = module.search, lambda _: ANYTHING
    try:
        return function(value)
    finally:
        module.search = engine


@given(TEXTS.map("".join) | st.lists(SCRAPS, max_size=8).map("".join))
def test_the_result_is_the_same_without_the_engine(text):
    """Text full of secrets, near-secrets and hidden characters is redacted in the same way with all rules applied."""
    assert redact(text) == without(redact, text)
    escaped = orjson.dumps(text.encode("utf-8", "replace").decode()).decode()
    assert redact(escaped) == without(redact, escaped)


@given(
    st.recursive(
        TEXTS.map("".join) | st.sampled_from([VALUE, f"Bearer {VALUE}"]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["token", "password", "Authorization", "cookie", "a", 'x"key']), inner)
        ),
        max_leaves=6,
    )
)
def test_no_line_of_json_is_missed(value):
    """A line in which nothing is found contains no string that redaction would change, with or without its key."""
    value = orjson.loads(orjson.dumps(value, default=str)) if is_text(value) else None
    if not may_contain_secret(orjson.dumps(value)):
        assert without(redact_json, value) is value


def is_text(value):
    """Return whether the value can be written as JSON: a lone surrogate cannot."""
    try:
        return bool(orjson.dumps(value))
    except TypeError:
        return False


@pytest.mark.slow
@each("sample", CASES[::5], ids=lambda case: case.kind)
def test_every_secret_is_seen_in_text_and_in_json(sample):
    """The search finds a secret in its text and in a line of JSON, however often the text was escaped before."""
    text = sample.text
    for _ in range(3):
        line = orjson.dumps({"a": text})
        if without(redact, text) is not text:
            assert search(text.encode()) is not NOTHING
            assert may_contain_secret(line)
        text = line.decode()


def test_without_the_library_everything_is_searched(monkeypatch):
    """If RE2 is not installed, all rules are applied to every text."""
    redact_filter._engines.cache_clear()
    monkeypatch.setattr(redact_filter, "re2", None)
    try:
        assert search(b"") is ANYTHING
        assert redact(f"password={VALUE}") == "password=[REDACTED:secret]"
    finally:
        redact_filter._engines.cache_clear()


def test_most_text_is_not_given_to_the_rules():
    """In ordinary prose and code nothing is found."""
    for text in (
        "The token is checked first.",
        "if key in mapping: return mapping[key]",
        "def f(password: str) -> None:",
    ):
        assert search(text.encode()) is NOTHING


@pytest.mark.slow
@each("arguments", [("--help",), ("status",)], ids=str)
def test_the_library_is_loaded_only_to_redact(arguments, tmp_path):
    """Commands that redact nothing do not load the library, so they start as fast as without it."""
    code = "import sys; sys.argv[1:] = %r; import runpy\ntry: runpy.run_module('katod', run_name='__main__')\n"
    code += "finally: print('loaded', 're2' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code % (list(arguments),)],
        capture_output=True, text=True, check=False, env={"HOME": str(tmp_path)},
    )  # fmt: skip
    assert "loaded False" in done.stdout


@pytest.mark.slow
def test_the_result_is_the_same_in_little_memory(monkeypatch):
    """A server has the engine forget its states sooner; it finds the same."""
    before = [repr(search(sample.text.encode())) for sample in CASES]
    monkeypatch.setattr(redact_filter, "_memory", redact_filter._memory)
    try:
        redact_filter.keep_small()
        assert [repr(search(sample.text.encode())) for sample in CASES] == before
    finally:
        monkeypatch.undo()
        redact_filter._engines.cache_clear()
