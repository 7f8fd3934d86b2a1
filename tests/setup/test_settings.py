"""JSON settings with a hook and a status line: everything else stays, and they are taken out exactly."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.errors import SetupError
from katod.setup.settings import Commands, added, removed
from tests.examples import examples, texts
from tests.looping import each

OURS = Commands("sh '/a b/hook.sh'", "sh '/a b/statusline.sh'")
OTHER = {"type": "command", "command": "other"}
KEYS = st.sampled_from(["env", "hooks", "theme", "statusLine", "é"]) | texts(max_size=3)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | texts(max_size=5) | st.floats(-1e9, 1e9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
GROUPS = st.lists(VALUES | st.fixed_dictionaries({"hooks": st.lists(st.just(OTHER), max_size=2)}), max_size=2)
HOOKS = st.dictionaries(st.sampled_from(["UserPromptSubmit", "Stop"]), GROUPS, max_size=2)
STYLES = st.fixed_dictionaries({"indent": st.sampled_from([None, 2, 4, "\t"]), "ensure_ascii": st.booleans()})
ENDS = st.sampled_from(["", "\n", "\n\n"])


@st.composite
def settings_files(draw):
    """Return settings in any style that an agent accepts."""
    tree = draw(st.dictionaries(KEYS.filter(lambda key: key != "hooks"), VALUES, max_size=4))
    if draw(st.booleans()):
        tree["hooks"] = draw(HOOKS)
    return (json.dumps(tree, **draw(STYLES)) + draw(ENDS)).encode()


@examples(3, 1_000)
@given(settings_files())
def test_setup_and_remove_change_nothing(before):
    """Any settings are afterwards what they were, byte for byte, and adding twice is adding once."""
    after = added(before, OURS).data
    assert added(after, OURS).data == after
    assert removed(after, [before], OURS) == before


@pytest.mark.slow
@examples(3, 1_000)
@given(settings_files(), texts(max_size=5))
def test_what_was_changed_since_stays(before, value):
    """If the user changed something since, only what was added is taken out, with or without a backup."""
    tree = json.loads(added(before, OURS).data)
    tree["changed since"] = value
    left = removed(json.dumps(tree).encode(), [before], OURS)
    assert json.loads(left) == json.loads(before) | {"changed since": value}
    assert list(json.loads(left)) == [*json.loads(before), "changed since"]
    assert OURS.hook not in json.dumps(json.loads(removed(json.dumps(tree).encode(), [], OURS)))


def test_what_is_added():
    """The hook comes after those that are there; the status line is new; order and indentation are kept."""
    before = {"theme": "dark", "hooks": {"UserPromptSubmit": [{"hooks": [OTHER]}]}, "env": {"A": "é"}}
    after = added(json.dumps(before, indent=4, ensure_ascii=False).encode(), OURS).data
    tree = json.loads(after)
    assert [group["hooks"][0]["command"] for group in tree["hooks"]["UserPromptSubmit"]] == ["other", OURS.hook]
    assert tree["statusLine"] == {"type": "command", "command": OURS.status_line}
    assert list(tree) == ["theme", "hooks", "env", "statusLine"]
    assert '\n    "env": {\n        "A": "é"\n    },\n'.encode() in after


def test_a_status_line_of_the_user_stays():
    """It is never replaced, not even an empty one, and remove leaves it."""
    for own in (OTHER, None, {}):
        before = json.dumps({"statusLine": own}).encode()
        result = added(before, OURS)
        assert result.own_status_line
        assert json.loads(result.data)["statusLine"] == own
        assert removed(result.data, [before], OURS) == before
        assert json.loads(removed(result.data + b"\n", [before], OURS)) == {"statusLine": own}


def test_settings_that_setup_created_are_removed_again():
    """Unless the user wrote something else into them: then only what was added is taken out."""
    after = added(None, OURS).data
    assert removed(after, [], OURS) is None
    more = after.replace(b'{\n  "hooks"', b'{\n  "theme": "dark",\n  "hooks"')
    assert removed(more, [], OURS) == b'{\n  "theme": "dark"\n}\n'


@pytest.mark.parametrize("hooks", [{}, {"UserPromptSubmit": []}, {"Stop": []}])
def test_containers_that_were_empty_before_stay(hooks):
    """Only containers that setup created are removed again."""
    before = json.dumps({"hooks": hooks}).encode()
    changed = json.dumps(json.loads(added(before, OURS).data) | {"theme": "dark"}).encode()
    assert json.loads(removed(changed, [before], OURS)) == {"hooks": hooks, "theme": "dark"}


def test_a_hook_beside_ours_stays():
    """If the user put a hook of theirs into our group, the group stays with it."""
    tree = json.loads(added(None, OURS).data)
    tree["hooks"]["UserPromptSubmit"][0]["hooks"].append(OTHER)
    left = json.loads(removed(json.dumps(tree).encode(), [], OURS))
    assert left == {"hooks": {"UserPromptSubmit": [{"hooks": [OTHER]}]}}


def test_it_is_said_if_the_agent_runs_no_hooks():
    """`disableAllHooks` switches off both."""
    assert added(b'{"disableAllHooks": true}', OURS).disabled
    assert not added(b'{"disableAllHooks": false}', OURS).disabled


@each(
    "data, why",
    [
        (b'{"a": 1, // why\n}', "not valid JSON (line 1, column 10)"),
        (b'{"a": 1,}', "not valid JSON"),
        (b'{"a": NaN}', "not valid JSON"),
        (b'\xef\xbb\xbf{"a": 1,}', "not valid JSON"),
        (b'{"a": "\xff"}', "not valid JSON"),
        (b"[]", "not a JSON object"),
        (b'{"a": 1, "a": 2}', 'has the key "a" twice'),
        (b'{"hooks": []}', "`hooks` is not what the agent expects"),
        (b'{"hooks": {"UserPromptSubmit": {}}}', "`hooks` is not what the agent expects"),
    ],
)
def test_what_is_not_understood_is_refused(data, why):
    """Comments, keys that are there twice, and everything that would not survive: nothing is changed."""
    with pytest.raises(SetupError) as raised:
        added(data, OURS)
    assert why in str(raised.value)


@pytest.mark.parametrize("depth", [400, 980, 1020, 5000])
def test_deep_nesting_is_kept_or_refused(depth):
    """Where the machine's stack ends, the settings are refused, and nothing else happens."""
    before = b'{\n "a": ' + b"[" * depth + b"]" * depth + b"}"
    try:
        after = added(before, OURS).data
    except SetupError:
        return
    assert removed(after, [before], OURS) == before
