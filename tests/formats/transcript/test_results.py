"""Outputs of tools: what clients add is dropped, long ones are shortened, failures and commits say what happened."""

from hypothesis import given
from hypothesis import strategies as st

from katod.formats.transcript.results import LONGEST, commits, is_commit, outcome, output_of, reason, shortened
from tests.looping import each


@each(
    ("text", "output"),
    [
        ("Exit code 2\nno rule", "no rule"),
        ("<tool_use_error>Not found</tool_use_error>", "Not found"),
        ("1\tx\n\n<system-reminder>\nBe kind.\n</system-reminder>\n", "1\tx"),
        ("<system-reminder>one</system-reminder>\n<system-reminder>two</system-reminder>", ""),
        (
            "Chunk ID: 2b39\nWall time: 0.1 seconds\nProcess exited with code 1\nOriginal token count: 4\nOutput:\nx",
            "x",
        ),
        ("Exit code: 0\nWall time: 0.1 seconds\nOutput:\nSuccess.", "Success."),
        ("Wall time: 1.2 seconds\nOutput:\nok", "ok"),
        ('{"output":"one\\ntwo\\n","metadata":{"exit_code":2,"duration_seconds":0.4}}', "one\ntwo"),
        ('{"chunk_id":"a1","wall_time_seconds":0.8,"exit_code":2,"output":"2 problems"}', "2 problems"),
        ("Output: 1 failing\nExit Code: 3", "1 failing"),
        ("Output: a\nb\nError: (none)\nExit Code: 0\nProcess Group PGID: 7", "a\nb"),
        ("1 failing\n<shellId: 1 completed with exit code 3>", "1 failing"),
        ("1 failing\n\nCommand exited with code 1", "1 failing"),
        ("done\n<shell_metadata>\ntimed out\n</shell_metadata>", "done"),
        ("done\n<bash_metadata>\ntimed out\n</bash_metadata>", "done"),
        ("done\n<system-reminder>be brief</system-reminder>\n", "done"),
        ("One test.\nagentId: a6d8 (for resuming)\n<usage>total_tokens: 900</usage>", "One test."),
        ("One test.\nagentId: a6d8 (for resuming)", "One test."),
    ],
)
def test_what_a_client_adds_for_its_model_is_dropped(text, output):
    """Chunk ids, exit codes, wrappers, process groups and reminders are not part of what a tool printed."""
    assert output_of(text) == output


@each(
    "text",
    [
        "Process exited with code 0 is what it says",
        "a line\nChunk ID: 1\nWall time: 2 seconds\nthe end",
        "see <system-reminder>x</system-reminder> in the middle",
        "<system-reminder> never closed\nand more",
        "print('<output>')\nprint('</output>')",
        "<html>\n<output>5</output>\n</html>",
        '{"output":"ok"}',
        '{"output":"cut of',
        "Output: of the program",
        "ends with\nExit Code: 3",
        "  indented\n    more",
    ],
)
def test_the_same_words_within_an_output_stay(text):
    """An output that speaks of such things is shown as it is."""
    assert output_of(text) == text


@given(
    st.lists(
        st.sampled_from(["<system-reminder>", "</system-reminder>", "Exit code 1\n", "x", "\n", "{", '{"output":', ">"])
    )
)
def test_any_output_is_a_part_of_the_result(pieces):
    """Nothing is invented: what is shown of a plain output is a part of it."""
    text = "".join(pieces)
    assert output_of(text) in text


def test_long_output_keeps_its_head_and_its_tail():
    """Two thirds of the lines are from the beginning, and a line between says how many are missing."""
    text = "\n".join(f"line {number}" for number in range(1, 1_501))
    shown = shortened(text, 9).split("\n")
    assert shown == [
        *(f"line {n}" for n in range(1, 7)),
        "… 1,491 lines left out …",
        "line 1498",
        "line 1499",
        "line 1500",
    ]
    assert shortened(text, 1_500) == text
    assert shortened("x\n" * 100_000, 0) == "x\n" * 100_000


def test_output_of_few_long_lines_is_shortened_too():
    """An output of more than 16,000 characters says how many are missing."""
    shown = shortened("a" * LONGEST + "z" * LONGEST, 200)
    assert shown.startswith("a" * 10_000)
    assert shown.endswith("z" * 5_000)
    assert "… 16,000 characters left out …" in shown
    assert shortened("x" * LONGEST, 200) == "x" * LONGEST


@each(
    ("payload", "said"),
    [
        ({}, []),
        ({"exitCode": 0}, []),
        ({"isError": True}, ["failed:", "1 failing"]),
        ({"isError": True, "exitCode": 1}, ["failed, exit 1:", "1 failing"]),
        ({"isError": True, "exitCode": 0}, ["failed, exit 0:", "1 failing"]),
        ({"isError": True, "text": ""}, ["failed"]),
        ({"isError": True, "text": "<tool_use_error>Not found</tool_use_error>"}, ["failed:", "Not found"]),
        ({"isError": True, "text": "key hunter2"}, ["failed:", "key ***"]),
        ({"denied": True}, ["declined"]),
        ({"denied": True, "isError": True, "exitCode": 1}, ["declined"]),
        ({"denied": True, "text": "… the user said:\nkeep *it*,\nhunter2"}, ["declined: keep *it*, ***"]),
        ({"denied": True, "text": "… the following reason for the rejection:  use pnpm"}, ["declined: use pnpm"]),
        ({"denied": True, "text": f"User feedback: {'no ' * 200}"}, [f"declined: {('no ' * 200).strip()}"]),
        ({"status": "interrupted"}, ["interrupted"]),
        ({"status": "completed"}, []),
    ],
)
def test_outcome_says_what_went_wrong(payload, said):
    """A failure has its exit code and the last line of its output; a refusal has all words of the person."""
    row = {"toolCallId": "t1", "text": "FAIL cart\n\n1 failing\n\n"} | payload
    shown = outcome(row, lambda text: text.replace("hunter2", "***"), ran=True)
    assert [span.text for span in shown] == said


def test_a_tool_that_is_no_command_says_first_why_it_failed():
    """Below it stands what it was given."""
    row = {
        "isError": True,
        "text": "<tool_use_error>String to replace not found in file.\nString: x\n</tool_use_error>",
    }
    assert [span.text for span in outcome(row, str, ran=False)] == ["failed:", "String to replace not found in file."]


@each(
    ("output", "shown"),
    [
        (
            "Error: Cannot find module 'x'\n    at load (a.js:1)\n  code: 'NOT_FOUND'\n}\n\nNode.js v22.22.3\n",
            "Error: Cannot find module 'x'",
        ),
        ("error: remote not found\n[rerun: b2]", "error: remote not found"),
        ("fatal: not a git repository", "fatal: not a git repository"),
        ('a.ts:1:2 lint/x\nerror: script "lint" exited with code 1', "a.ts:1:2 lint/x"),
        ("Traceback:\n  x\nValueError: no\n", "ValueError: no"),
        ("ValueError: no\n\nDuring it:\nKeyError: 'a'\n", "KeyError: 'a'"),
        ("SyntaxError: Export not found\n      at x.ts:3\n\nBun v1.3.13 (Linux x64)", "SyntaxError: Export not found"),
        ("an error was found: fine\n1 failing", "1 failing"),
        ("}", ""),
    ],
)
def test_the_reason_is_the_last_error(output, shown):
    """Neither the stack below it nor what a runtime adds says more; without an error, it is the last line."""
    assert reason(output) == shown


def test_the_reason_is_short():
    """A long last line is cut; blank lines after it do not count."""
    assert reason("a\nb  \n \n") == "b"
    assert len(reason("x" * 500)) == 160
    assert reason("\n \n") == ""


@each(
    ("text", "made"),
    [
        ("[main 3f2a91c] Add sign-in\n 2 files changed", [("3f2a91c", "Add sign-in")]),
        ("[main (root-commit) 3f2a91c] Begin", [("3f2a91c", "Begin")]),
        ("[detached HEAD 0123456789] x\n[a/b-c abcdef0] y", [("0123456789", "x"), ("abcdef0", "y")]),
        ("[main] no hash", []),
        ("words [main 3f2a91c] within a line", []),
    ],
)
def test_commits_are_read_from_what_git_prints(text, made):
    """A commit is a line with branch, hash and subject."""
    assert commits(text) == made


@each(
    ("command", "may"),
    [
        ('git commit -m "x"', True),
        ("cd a && git -C b commit -qam x", True),
        ("git add . && git commit", True),
        ("git log | grep commit", False),
        ("echo commit", False),
        ("git status; ./commit", False),
    ],
)
def test_only_git_commits(command, may):
    """Only the output of a command that calls `git … commit` is searched for commits."""
    assert is_commit(command) is may
