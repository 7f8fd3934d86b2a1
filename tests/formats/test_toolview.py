"""How a tool call and its result are rendered."""

import pytest
from markdown_it import MarkdownIt

from katod.formats.toolview import (
    LONGEST,
    call_block,
    cut,
    details,
    diff,
    edit_size,
    failure,
    label,
    report_block,
    result_block,
    summary,
)
from tests.looping import each

MINUS = "\N{MINUS SIGN}"


def call(name="Bash", family="execute", description="npm test", given=None, **more):
    return {
        "toolCallId": "t1",
        "name": name,
        "family": family,
        "description": description,
        "input": given or {},
        **more,
    }


def result(text="", **more):
    return {"toolCallId": "t1", "text": text, **more}


def edit(old, new, **more):
    return call("Edit", "edit", "src/a.ts", {"old_string": old, "new_string": new, **more})


def hide(text):
    return text.replace("hunter2", "***")


def fences(block):
    """Return the code blocks of a rendered block: language and content."""
    tokens = MarkdownIt("commonmark").parse(block)
    return [(token.info, token.content) for token in tokens if token.type == "fence"]


# -- one line ----------------------------------------------------------------------------------------


def test_label_names_the_tool_and_what_it_was_about():
    """The label of a call is its tool as code, and one line about it."""
    assert label(call(), str) == "`Bash` npm test"
    assert label(call(description=""), str) == "`Bash`"
    assert label(call(name=""), str) == "`tool` npm test"


def test_label_of_an_edit_counts_its_lines():
    """The label of an edit has the numbers of added and removed lines."""
    assert label(edit("a\nb", "a\nc\nd"), str) == f"`Edit` src/a.ts (+2 {MINUS}1)"
    assert summary(edit("a", "a"), str) == "<code>Edit</code> src/a.ts"


def test_label_is_one_line_without_markup():
    """The input of a tool stays on its line and does not act as markup."""
    shown = label(call("mcp__x`y", description="*a*\n# b <b> [c](d) `e` hunter2"), hide)
    assert shown == r"``mcp__x`y`` \*a\* # b &lt;b> \[c\](d) \`e\` \*\*\*"


def test_summary_is_html_without_markup():
    """In the summary of a collapsible block, names and descriptions are escaped."""
    assert summary(call("<b>", description="a & <i>hunter2</i>"), hide) == (
        "<code>&lt;b&gt;</code> a &amp; &lt;i&gt;***&lt;/i&gt;"
    )


@each(
    ("payload", "said"),
    [
        (result("fine"), ""),
        (result("fine", exitCode=0), ""),
        (result("", isError=True), "failed"),
        (result("x", isError=True, exitCode=1), "failed: exit code 1"),
        (result("x", isError=True, exitCode=0), "failed: exit code 0"),
        (result("No such file\nat line 1", isError=True), "failed: No such file …"),
        (result("<tool_use_error>Not found</tool_use_error>", isError=True), "failed: Not found"),
        (result("*x* hunter2", isError=True), r"failed: \*x\* \*\*\*"),
        (result("no", denied=True), "declined"),
        (result("… the user said:\nkeep *it*,\nhunter2", denied=True), r"declined: keep \*it\*, \*\*\*"),
        (result("… the following reason for the rejection:  use pnpm", denied=True), "declined: use pnpm"),
        (result(f"User feedback: {'no ' * 200}", denied=True), f"declined: {('no ' * 200).strip()}"),
        (result("no", denied=True, isError=True, exitCode=1), "declined"),
        (result("", status="interrupted"), "interrupted"),
        (result("", status="completed"), ""),
    ],
)
def test_failure_says_what_went_wrong(payload, said):
    """A result without an error gives no text; a failed one gives the reason in one line."""
    assert failure(payload, hide) == said


# -- collapsible blocks --------------------------------------------------------------------------------


def test_block_of_a_command_is_shell():
    """A command is rendered as a shell block under its summary."""
    assert call_block(call(given={"command": "npm test"}), str) == (
        "<details>\n<summary><code>Bash</code> npm test</summary>\n\n```bash\nnpm test\n```\n\n</details>"
    )


@pytest.mark.parametrize(
    ("payload", "fence"),
    [
        (call(given={"cmd": ["bash", "-lc", "make"]}), ("bash", "bash -lc make\n")),
        (call(given="ls -l"), ("bash", "ls -l\n")),
        (call(given={"timeout": 5}), ("json", '{\n  "timeout": 5\n}\n')),
        (edit("a\nb", "a\nc"), ("diff", "-b\n+c\n")),
        (call("apply_patch", "edit", given="*** Begin Patch\n+x\n"), ("diff", "+x\n")),
        (call("Write", "edit", given={"content": "a\nb"}), ("diff", "+a\n+b\n")),
        (call("Read", "read", given={"file_path": "a"}), ("json", '{\n  "file_path": "a"\n}\n')),
        (call("js", "other", given="1+1"), ("text", "1+1\n")),
        (call(given={"command": "echo hunter2"}), ("bash", "echo ***\n")),
        (edit("", "hunter2"), ("diff", "+***\n")),
    ],
)
def test_block_shows_the_call_in_its_language(payload, fence):
    """Edits are diffs, commands are shell, anything else is its input; secrets are replaced in all."""
    assert fences(call_block(payload, hide)) == [fence]


def test_input_nested_too_deep_is_named():
    """An input that cannot be written as JSON raises nothing, and its block says why."""
    deep = {}
    for _ in range(2000):
        deep = {"a": deep}
    assert "too deep" in call_block(call("X", "other", given=deep), str)


def test_what_goes_on_in_the_background_has_no_text_yet():
    """The client's note about it is not shown."""
    shown = result_block(result("Async agent launched", status="launched"), "<code>Agent</code>", str)
    assert "result: <code>Agent</code> · in the background" in shown
    assert "launched" not in shown


def test_the_answer_of_a_sub_agent_is_a_block():
    """With its state, and redacted."""
    assert report_block({"subagent": "a", "status": "<done>", "result": "hunter2"}, hide) == (
        "<details>\n<summary>answer of the sub-agent · &lt;done&gt;</summary>\n\n```text\n***\n```\n\n</details>"
    )


@pytest.mark.parametrize(
    ("payload", "title"),
    [
        (result("x"), "result: <code>Bash</code> npm test"),
        (result("x", exitCode=1, durationMs=1234), "result: <code>Bash</code> npm test · exit 1 · 1.2 s"),
        (result("x", isError=True), "result: <code>Bash</code> npm test · failed"),
        (result("x", denied=True, isError=True), "result: <code>Bash</code> npm test · declined"),
        (result("x", durationMs=0), "result: <code>Bash</code> npm test"),
    ],
)
def test_block_of_a_result_names_its_call_and_how_it_ended(payload, title):
    """A result's summary is its call's, with exit code and duration if they are known."""
    block = result_block(payload, "<code>Bash</code> npm test", str)
    assert block == details(title, "```text\nx\n```")


@pytest.mark.parametrize("text", ["```\nend\n```", "````", "a ``` b", "</details>", "~~~\n````\n~~~"])
def test_output_cannot_leave_its_block(text):
    """A result that contains fences or closing tags stays inside its own fence, unchanged."""
    block = result_block(result(text), "x", str)
    assert fences(f"{block}\n\nbehind\n") == [("text", f"{text}\n")]


def test_long_output_is_cut_and_its_size_named():
    """A long result is cut at a limit, and its full length is given."""
    assert cut("x" * LONGEST) == "x" * LONGEST
    assert cut("x" * (LONGEST + 1)) == "x" * LONGEST + f"\n… {LONGEST + 1:,} characters in all"
    assert f"{LONGEST + 5:,} characters" in result_block(result("x" * (LONGEST + 5)), "x", str)


# -- edits -------------------------------------------------------------------------------------------


@each(
    ("old", "new", "lines"),
    [
        ("a", "b", ["-a", "+b"]),
        ("a\nb\nc", "a\nx\nc", ["-b", "+x"]),
        ("", "a\nb", ["+a", "+b"]),
        ("a\nb", "", ["-a", "-b"]),
        ("a\nb", "a\nb", []),
        ("a", "a\na", ["+a"]),
        ("x\n\ny", "x\n\nz", ["-y", "+z"]),
    ],
)
def test_diff_shows_the_lines_that_changed(old, new, lines):
    """Lines that an edit repeats at its ends are left out; removed lines come first."""
    assert diff(edit(old, new)) == lines


def test_diff_of_several_edits_shows_all():
    """Edits made in one call are rendered one after the other."""
    payload = call(
        "MultiEdit", "edit", given={"edits": [{"old_string": "a", "new_string": "b"}, {"new_string": "c"}, "odd"]}
    )
    assert diff(payload) == ["-a", "+b", "+c"]
    assert edit_size(payload) == f"+2 {MINUS}1"


@each(
    ("name", "given"),
    [
        ("Edit", {"old_string": "a", "new_string": "b"}),
        ("replace", {"old_string": "a", "new_string": "b"}),
        ("edit", {"newString": "b", "oldString": "a"}),
        ("edit", {"old_str": "a", "new_str": "b"}),
        ("edit", {"edits": [{"oldText": "a", "newText": "b"}]}),
        ("StrReplace", {"old_string": "a", "new_string": "b"}),
        ("apply_patch", {"patchText": "*** Update File: x\n@@\n-a\n+b\n"}),
        ("apply_patch", "*** Update File: x\n@@\n-a\n+b\n"),
    ],
)
def test_edits_of_every_agent_have_a_size(name, given):
    """The lines of an edit are counted and shown whatever its agent calls the arguments."""
    payload = call(name, "edit", given=given)
    assert edit_size(payload) == f"+1 {MINUS}1"
    assert [line for line in diff(payload) if line != "@@"] == ["-a", "+b"]


@each("name, key", [("write", "content"), ("Write", "contents"), ("create", "file_text"), ("write_file", "content")])
def test_a_written_file_has_a_size(name, key):
    """All lines of a file that a call writes count as added."""
    assert edit_size(call(name, "edit", given={key: "a\nb\n"})) == f"+2 {MINUS}0"


PATCH = """*** Begin Patch
*** Update File: db.sql
@@ def f
 context

--- an old comment
+-- a new comment
++++ two more
-x
*** End Patch"""


def test_diff_of_a_patch_shows_its_changed_lines():
    """Only changed lines of a patch and their locations are shown, even if a changed line begins with `-` or `+`."""
    shown = ["@@ def f", "--- an old comment", "+-- a new comment", "++++ two more", "-x"]
    assert diff(call("apply_patch", "edit", given=PATCH)) == shown


def test_size_of_a_patch_counts_its_changed_lines():
    """Every line that a patch adds or removes is counted, and no other."""
    assert edit_size(call("apply_patch", "edit", given=PATCH)) == f"+2 {MINUS}2"


@pytest.mark.parametrize(
    "given", [None, {}, 5, [], {"edits": 5}, {"old_string": 1, "new_string": None}, {"edits": [5]}]
)
def test_edit_of_an_unknown_shape_has_no_size(given):
    """An edit whose input has no lines raises nothing and has no size."""
    payload = call("Edit", "edit") | {"input": given}
    assert edit_size(payload) == ""
    assert label(payload, str) == "`Edit` npm test"
    assert "<details>" in call_block(payload, str)


def test_only_edits_have_a_size():
    """A tool that is not an edit has no size, even if its input looks like an edit."""
    assert edit_size(call(given={"new_string": "a"})) == ""
