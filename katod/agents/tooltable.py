"""The tools of each agent: what a tool is for, and which of its arguments say what.

Names and keys were observed in session files: in calls, and in the tool lists that clients write. Names are compared in
lower case and across agents: a name means the same in all of them, and versions and forks share names.
"""

from typing import Any, Final, Literal, NamedTuple

from katod.agents.fields import dict_of

Family = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "mcp", "agent", "other"]
Keys = tuple[str, ...]


class Tool(NamedTuple):
    """What is known of a tool. Each field but the first names arguments; the first one present counts."""

    family: Family
    about: Keys = ()  # what the call is about: a path, a command, a pattern, a task
    within: Keys = ()  # where a search looks
    old: Keys = ()  # the text that an edit replaces
    new: Keys = ()  # the text that it writes
    edits: Keys = ()  # a list of edits, each with `old` and `new`
    patch: Keys = ()  # a patch; input that is a string is one as well
    items: Keys = ()  # a list of which only the length is shown
    quiet: bool = False  # the client's own bookkeeping: a transcript does not show it
    asks: bool = False  # its questions and answers become events, so the call itself is not printed

    def patch_in(self, given: Any) -> str:
        """Return the patch that a call applies, empty if it applies none."""
        return given if isinstance(given, str) else _text(given, self.patch)

    def changes(self, given: Any) -> list[tuple[str, str]]:
        """Return the texts that a call replaces, each with its replacement."""
        rows = next((given[key] for key in self.edits if isinstance(dict_of(given).get(key), list)), [given])
        return [(_text(row, self.old), _text(row, self.new)) for row in rows]

    def merged(self, other: "Tool") -> "Tool":
        """Return a tool that knows the arguments of both."""
        keys = [tuple(dict.fromkeys((*mine, *theirs))) for mine, theirs in zip(self[1:-2], other[1:-2], strict=True)]
        return Tool._make((self.family, *keys, self.quiet and other.quiet, self.asks or other.asks))


def _text(given: Any, keys: Keys) -> str:
    row = dict_of(given)
    return next((row[key] for key in keys if isinstance(row.get(key), str)), "")


_COMMAND: Final = Tool("execute", ("command", "cmd"))
_SHELL_ID: Final = Tool("execute", ("shellId", "shell_id", "bash_id", "session_id", "task_id", "command"))
_FETCH: Final = Tool("fetch", ("url", "query", "prompt"))
_TASK: Final = Tool("agent", ("description", "prompt"))
_TODO: Final = Tool("think", items=("todos", "plan"))
_FILE: Final = ("file_path", "path", "notebook_path")
_SEARCH: Final = Tool("search", ("pattern",), ("path", "glob"))

TOOLS: Final[dict[str, dict[str, Tool]]] = {
    "claude": {
        "Read": Tool("read", _FILE),
        "NotebookRead": Tool("read", _FILE),
        "ReadMcpResourceTool": Tool("read", ("uri",)),
        "ListMcpResourcesTool": Tool("search", ("server",)),
        "Edit": Tool("edit", _FILE, old=("old_string",), new=("new_string",)),
        "MultiEdit": Tool("edit", _FILE, old=("old_string",), new=("new_string",), edits=("edits",)),
        "Write": Tool("edit", _FILE, new=("content",)),
        "NotebookEdit": Tool("edit", _FILE, new=("new_source",)),
        "Grep": _SEARCH,
        "Glob": _SEARCH,
        "LS": Tool("search", ("path",)),
        "ToolSearch": Tool("search", ("query",), quiet=True),
        "Bash": _COMMAND,
        "PowerShell": _COMMAND,
        "Monitor": Tool("execute", ("description", "command")),
        "BashOutput": _SHELL_ID,
        "KillShell": _SHELL_ID,
        "KillBash": _SHELL_ID,
        "TaskOutput": _SHELL_ID,
        "TaskStop": _SHELL_ID,
        "TodoWrite": _TODO,
        "TaskCreate": Tool("think", ("subject", "description")),
        "TaskUpdate": Tool("think", ("taskId",)),
        "TaskGet": Tool("think", ("taskId",), quiet=True),
        "TaskList": Tool("think", quiet=True),
        "EnterPlanMode": Tool("think"),
        "ExitPlanMode": Tool("think", ("plan",), asks=True),
        "AskUserQuestion": Tool("other", ("question",), asks=True),
        "ScheduleWakeup": Tool("other", ("reason",)),
        "WebFetch": Tool("fetch", ("url",)),
        "WebSearch": Tool("fetch", ("query",)),
        "Task": _TASK,
        "Agent": _TASK,
        "SendMessage": Tool("agent", ("summary", "message", "content")),
        "Skill": Tool("agent", ("skill",)),
    },
    "codex": {
        "exec_command": _COMMAND,
        "write_stdin": Tool("execute", ("chars",)),
        "shell": _COMMAND,
        "shell_command": _COMMAND,
        "local_shell": _COMMAND,
        "unified_exec": Tool("execute", ("input",)),
        "exec": Tool("execute"),
        "js": Tool("execute"),
        "apply_patch": Tool("edit", patch=("input",)),
        "view_image": Tool("read", ("path",)),
        "list_dir": Tool("search", ("dir_path",)),
        "tool_search": Tool("search", ("query",), quiet=True),
        "update_plan": _TODO,
        "web_search": Tool("fetch", ("query", "url")),
        "web__run": Tool("fetch"),
        "image_generation": Tool("other", ("prompt",)),
        "request_user_input": Tool("other", asks=True),
        "spawn_agent": Tool("agent", ("message", "description", "prompt")),
        "send_message": Tool("agent", ("message",)),
        "send_input": Tool("agent", ("message",)),
        "wait_agent": Tool("agent", ("ids",)),
        "close_agent": Tool("agent", ("id",)),
    },
    "gemini": {
        "read_file": Tool("read", _FILE),
        "replace": Tool("edit", ("file_path",), old=("old_string",), new=("new_string",)),
        "write_file": Tool("edit", ("file_path",), new=("content",)),
        "list_directory": Tool("search", ("dir_path", "path")),
        "glob": Tool("search", ("pattern",), ("dir_path",)),
        "grep_search": Tool("search", ("pattern",), ("dir_path", "path")),
        "search_file_content": Tool("search", ("pattern",), ("dir_path", "path")),
        "run_shell_command": _COMMAND,
        "run_command": _COMMAND,
        "write_todos": _TODO,
        "update_topic": Tool("think", ("title",)),
        "complete_task": Tool("think", ("result",)),
        "ask_user": Tool("other", asks=True),
        "exit_plan_mode": Tool("think", ("plan_filename", "plan_path")),
        "invoke_agent": Tool("agent", ("prompt",)),
        "activate_skill": Tool("agent", ("name",)),
        "web_fetch": _FETCH,
    },
    "opencode": {
        "read": Tool("read", ("filePath",)),
        "edit": Tool("edit", ("filePath",), old=("oldString",), new=("newString",)),
        "write": Tool("edit", ("filePath",), new=("content",)),
        "apply_patch": Tool("edit", patch=("patchText",)),
        "grep": Tool("search", ("pattern",), ("path", "include")),
        "glob": Tool("search", ("pattern",), ("path",)),
        "bash": _COMMAND,
        "todowrite": _TODO,
        "question": Tool("other", asks=True),
        "task": _TASK,
        "skill": Tool("agent", ("name",)),
        "webfetch": _FETCH,
        "compress": Tool("think", ("topic",)),
    },
    "cursor": {
        "Read": Tool("read", ("path",)),
        "StrReplace": Tool("edit", ("path",), old=("old_string",), new=("new_string",)),
        "Write": Tool("edit", ("path",), new=("contents",)),
        "Delete": Tool("delete", ("path",)),
        "Grep": _SEARCH,
        "Glob": Tool("search", ("glob_pattern",), ("target_directory",)),
        "GetDynamicTools": Tool("search", ("toolName", "pattern", "namespace"), quiet=True),
        "Shell": _COMMAND,
        "AwaitShell": _SHELL_ID,
        "TodoWrite": _TODO,
        "CreatePlan": Tool("think", ("name",), asks=True),
        "AskQuestion": Tool("other", ("title",), asks=True),
        "SwitchMode": Tool("other", ("target_mode_id",)),
        "Task": _TASK,
        "WebSearch": Tool("fetch", ("query",)),
        "WebFetch": Tool("fetch", ("url",)),
    },
    "copilot": {
        "view": Tool("read", ("path",)),
        "edit": Tool("edit", ("path",), old=("old_str",), new=("new_str",)),
        "str_replace": Tool("edit", ("path",), old=("old_str",), new=("new_str",)),
        "create": Tool("edit", ("path",), new=("file_text",)),
        "apply_patch": Tool("edit", patch=("patch",)),
        "grep": Tool("search", ("pattern",), ("paths", "path", "glob")),
        "rg": Tool("search", ("pattern",), ("paths", "path", "glob")),
        "glob": Tool("search", ("pattern",), ("paths", "path")),
        "session_store_sql": Tool("search", ("description", "query")),
        "sql": Tool("think", ("description", "query")),
        "bash": _COMMAND,
        "local_shell": _COMMAND,
        "read_bash": _SHELL_ID,
        "stop_bash": _SHELL_ID,
        "ask_user": Tool("other", ("question", "message"), asks=True),
        "rename_session": Tool("other", ("title",)),
        "task_complete": Tool("think", ("summary",)),
        "task": _TASK,
        "read_agent": Tool("agent", ("agent_id",)),
        "list_agents": Tool("agent", quiet=True),
        "skill": Tool("agent", ("skill",)),
        "web_fetch": _FETCH,
        "web_search": _FETCH,
    },
    "pi": {
        "read": Tool("read", ("path",)),
        "edit": Tool("edit", ("path",), old=("oldText",), new=("newText",), edits=("edits",)),
        "write": Tool("edit", ("path",), new=("content",)),
        "bash": _COMMAND,
        "grep": Tool("search", ("pattern",), ("path", "glob")),
        "ls": Tool("search", ("path",)),
    },
    "zot": {
        "read": Tool("read", ("path",)),
        "write": Tool("edit", ("path",), new=("content",)),
        "bash": _COMMAND,
    },
}


def _by_name() -> dict[str, Tool]:
    known: dict[str, Tool] = {}
    for tools in TOOLS.values():
        for name, tool in tools.items():
            key = name.lower()
            known[key] = known[key].merged(tool) if key in known else tool
    return known


_KNOWN: Final = _by_name()
# Tools of other origin (extensions, MCP, versions that are not known yet), judged by their arguments alone.
UNKNOWN: Final = Tool(
    "other",
    (
        "command", "cmd", "file_path", "path", "notebook_path", "url", "query", "pattern", "description",
        "prompt", "subject", "skill", "question", "input", "name",
    ),
)  # fmt: skip


def tool(name: str) -> Tool:
    """Return what is known of the tool with this name, `UNKNOWN` for any other."""
    return _KNOWN.get(name.lower(), UNKNOWN)
