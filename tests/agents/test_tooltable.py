"""The table of tools: families, and what a call is about, with arguments as each agent writes them."""

from typing import Any

from katod.agents import AGENTS
from katod.agents.toolcalls import call_of, describe, family
from katod.agents.tooltable import TOOLS, UNKNOWN, tool
from tests.agents import tooldocument
from tests.looping import each

TODOS = [{"content": "a", "status": "pending"}, {"content": "b", "status": "done"}]
# One call of each family and agent: the name, the arguments, the family, and the line that describes it.
CALLS: list[tuple[str, Any, str, str]] = [
    ("Read", {"file_path": "/p/a.py", "offset": 3}, "read", "a.py"),
    ("TaskUpdate", {"taskId": "1", "status": "done"}, "think", "1"),
    ("NotebookEdit", {"notebook_path": "/p/a.ipynb", "new_source": "x"}, "edit", "a.ipynb"),
    ("apply_patch", "*** Begin Patch\n*** Add File: a.py\n+x\n*** Delete File: b.py\n", "edit", "a.py and 1 more"),
    ("exec_command", {"cmd": "make", "workdir": "/p"}, "execute", "make"),
    *(
        (name, {"cmd": "make"}, "execute", "make")
        for name in ("shell", "shell_command", "local_shell", "Bash", "PowerShell")
    ),
    ("unified_exec", {"input": "make"}, "execute", "make"),
    # OpenCode puts the content first in some calls, and writes paths as `filePath`
    ("read", {"filePath": "/p/src/a.py", "limit": 5}, "read", "src/a.py"),
    ("write", {"content": "x = 1\n", "filePath": "/p/a.py"}, "edit", "a.py"),
    ("edit", {"newString": "b", "oldString": "a", "filePath": "/p/a.py"}, "edit", "a.py"),
    ("apply_patch", {"patchText": "*** Begin Patch\n*** Update File: a.py\n-a\n+b\n"}, "edit", "a.py"),
    ("grep", {"pattern": "auth", "include": "*.py"}, "search", '"auth" in *.py'),
    ("todowrite", {"todos": TODOS}, "think", "2 items"),
    ("task", {"subagent_type": "explore", "prompt": "Go.", "description": "Look"}, "agent", "Look"),
    ("webfetch", {"format": "text", "url": "https://example.org"}, "fetch", "https://example.org"),
    # Gemini
    ("replace", {"instruction": "Do", "old_string": "a", "new_string": "b", "file_path": "a.py"}, "edit", "a.py"),
    ("write_file", {"content": "x", "file_path": "a.py"}, "edit", "a.py"),
    ("grep_search", {"dir_path": "src", "pattern": "auth"}, "search", '"auth" in src'),
    ("search_file_content", {"pattern": "auth"}, "search", '"auth"'),
    ("list_directory", {"dir_path": "src"}, "search", "src"),
    ("write_todos", {"todos": TODOS[:1]}, "think", "1 item"),
    ("update_topic", {"strategic_intent": "Find out", "title": "Tests", "summary": "…"}, "think", "Tests"),
    ("invoke_agent", {"agent_name": "generalist", "prompt": "Look."}, "agent", "Look."),
    ("web_fetch", {"prompt": "Read https://example.org"}, "fetch", "Read https://example.org"),
    ("run_shell_command", {"description": "Test", "command": "npm test"}, "execute", "npm test"),
    # Cursor
    ("StrReplace", {"new_string": "b", "old_string": "a", "path": "a.py"}, "edit", "a.py"),
    ("Write", {"contents": "x", "path": "a.py"}, "edit", "a.py"),
    ("Delete", {"path": "/p/a.py"}, "delete", "a.py"),
    ("Glob", {"target_directory": "src", "glob_pattern": "*.py"}, "search", '"*.py" in src'),
    ("GetDynamicTools", {"namespace": "cursor", "toolName": "Task"}, "search", "Task"),
    ("AwaitShell", {"block_until_ms": 5, "pattern": "ready", "shell_id": "7"}, "execute", "7"),
    ("SwitchMode", {"explanation": "Plan first.", "target_mode_id": "plan"}, "other", "plan"),
    ("CreatePlan", {"overview": "…", "plan": "1. x", "name": "Login"}, "think", "Login"),
    # Copilot
    ("create", {"file_text": "x", "path": "/p/a.py"}, "edit", "a.py"),
    ("edit", {"new_str": "b", "old_str": "a", "path": "/p/a.py"}, "edit", "a.py"),
    ("rg", {"pattern": "auth", "paths": ["src", "lib"], "-n": True}, "search", '"auth" in src lib'),
    ("grep", {"paths": "src", "pattern": "auth"}, "search", '"auth" in src'),
    ("read_bash", {"delay": 5, "shellId": "deploy"}, "execute", "deploy"),
    ("task_complete", {"summary": "All done."}, "think", "All done."),
    ("read_agent", {"wait": True, "agent_id": "helper"}, "agent", "helper"),
    ("ask_user", {"question": "Which?", "choices": ["a"]}, "other", "Which?"),
    # Pi
    ("edit", {"edits": [{"oldText": "a", "newText": "b"}], "path": "/p/a.py"}, "edit", "a.py"),
    ("bash", {"command": "make\nmake test", "timeout": 5}, "execute", "make …"),
    # not in the table
    ("mcp__docs__search", {"query": "auth"}, "mcp", "auth"),
    ("my_tool", {"level": 3, "text": "anything"}, "other", "anything"),
    ("my_tool", {"text": "anything", "path": "/p/a.py"}, "other", "a.py"),
]


@each(("name", "given", "kind", "line"), CALLS)
def test_a_call_has_a_family_and_a_line(name: str, given: Any, kind: str, line: str) -> None:
    """The name of a tool gives its family, and the arguments that the table names give the line about it."""
    assert (family(name), describe(name, given, "/p")) == (kind, line)


def test_every_agent_has_its_tools_in_the_table() -> None:
    """The table has a section for each agent with a form of its own."""
    assert set(TOOLS) == {name for name, spec in AGENTS.items() if not spec.form}


def test_the_document_of_tools_is_what_the_table_says() -> None:
    """Every tool, its family and its arguments are in `tools.md`, so that a change of the table is seen as one."""
    assert tooldocument.text() in tooldocument.PATH.read_text()


def test_a_name_means_the_same_in_all_agents() -> None:
    """Tools of the same name have the same family, whichever agent wrote the call."""
    wrong = [(agent, name) for agent, tools in TOOLS.items() for name, t in tools.items() if tool(name)[0] != t[0]]
    assert wrong == []


def test_names_are_compared_without_regard_to_case() -> None:
    """A tool is known however its name is capitalised; any other tool is unknown."""
    assert tool("bash") == tool("Bash") == tool("BASH")
    assert tool("my_tool") is UNKNOWN


def test_a_call_through_a_server_is_of_the_family_mcp() -> None:
    """A tool of an MCP server has the family `mcp`, even if one of the agent's own tools has its name."""
    assert call_of("1", "search", {"query": "x"}, server="docs")["family"] == "mcp"


@each(
    ("name", "given", "changes"),
    [
        ("edit", {"oldString": "a", "newString": "b"}, [("a", "b")]),
        ("edit", {"old_str": "a", "new_str": "b"}, [("a", "b")]),
        ("replace", {"old_string": "a", "new_string": "b"}, [("a", "b")]),
        ("edit", {"edits": [{"oldText": "a", "newText": "b"}, {"oldText": "c"}, 5]}, [("a", "b"), ("c", ""), ("", "")]),
        ("create", {"file_text": "a"}, [("", "a")]),
        ("Write", {"contents": "a"}, [("", "a")]),
        ("write", {"content": "a"}, [("", "a")]),
        ("edit", {"oldString": 5, "edits": "x"}, [("", "")]),
        ("edit", None, [("", "")]),
        ("my_tool", {"old_string": "a", "new_string": "b"}, [("", "")]),
    ],
)
def test_an_edit_names_its_texts(name: str, given: Any, changes: list[tuple[str, str]]) -> None:
    """The texts that an edit replaces and writes are in the arguments that its agent uses for them."""
    assert tool(name).changes(given) == changes
