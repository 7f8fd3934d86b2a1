"""The tools of each agent: what a tool is for, and which of its arguments say what.

Names and keys were observed in session files: in calls, and in the tool lists that clients write. Names are compared in
lower case and across agents: a name means the same in all of them, and versions and forks share names.
"""

from typing import Any, Final, Literal, NamedTuple

from katod.agents.fields import dict_of

Family = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "mcp", "agent", "other"]
Keys = tuple[str, ...]


class ToolEntry(NamedTuple):
    """What is known of a tool. Each field but the first names arguments; the first one present counts."""

    family: Family
    about: Keys = ()  # what the call is about: a path, a command, a pattern, a task
    within: Keys = ()  # where a search looks
    old: Keys = ()  # the text that an edit replaces
    new: Keys = ()  # the text that it writes
    edits: Keys = ()  # a list of edits, each with `old` and `new`
    file: Keys = ()  # in each of `edits`: its file
    part: Keys = ()  # one that says that text which replaces none is only a part of the file
    patch: Keys = ()  # a patch; input that is a string is one as well
    items: Keys = ()  # a list of which only the length is shown
    quiet: bool = False  # the client's own bookkeeping: a transcript does not show it
    asks: bool = False  # its questions and answers become events, so the call itself is not printed

    def patch_in(self, given: Any) -> str:
        """Return the patch that a call applies, empty if it applies none."""
        return given if isinstance(given, str) else _text(given, self.patch)

    def changes(self, given: Any) -> list[tuple[str, str]]:
        """Return the texts that a call replaces, each with its replacement."""
        return [(_text(row, self.old), _text(row, self.new)) for row in self.rows(given)]

    def rows(self, given: Any) -> list[Any]:
        """Return the edits of a call: it may have a list of them, or be one itself."""
        return next((given[key] for key in self.edits if isinstance(dict_of(given).get(key), list)), [given])

    def merged(self, other: "ToolEntry") -> "ToolEntry":
        """Return a tool that knows the arguments of both."""
        keys = [tuple(dict.fromkeys((*mine, *theirs))) for mine, theirs in zip(self[1:-2], other[1:-2], strict=True)]
        return ToolEntry._make((self.family, *keys, self.quiet and other.quiet, self.asks or other.asks))


def _text(given: Any, keys: Keys) -> str:
    row = dict_of(given)
    return next((row[key] for key in keys if isinstance(row.get(key), str)), "")


_COMMAND: Final = ToolEntry("execute", ("command", "cmd"))
_SHELL_ID: Final = ToolEntry("execute", ("shellId", "shell_id", "bash_id", "session_id", "task_id", "command"))
_FETCH: Final = ToolEntry("fetch", ("url", "query", "prompt"))
_TASK: Final = ToolEntry("agent", ("description", "prompt"))
_TODO: Final = ToolEntry("think", items=("todos", "plan"))
_FILE: Final = ("file_path", "path", "notebook_path")
_SEARCH: Final = ToolEntry("search", ("pattern",), ("path", "glob"))

TOOLS: Final[dict[str, dict[str, ToolEntry]]] = {
    "claude": {
        "Read": ToolEntry("read", _FILE),
        "NotebookRead": ToolEntry("read", _FILE),
        "ReadMcpResourceTool": ToolEntry("read", ("uri",)),
        "ListMcpResourcesTool": ToolEntry("search", ("server",)),
        "Edit": ToolEntry("edit", _FILE, old=("old_string",), new=("new_string",)),
        "MultiEdit": ToolEntry("edit", _FILE, old=("old_string",), new=("new_string",), edits=("edits",)),
        "Write": ToolEntry("edit", _FILE, new=("content",)),
        "NotebookEdit": ToolEntry("edit", _FILE, new=("new_source",), part=("new_source",)),
        "Grep": _SEARCH,
        "Glob": _SEARCH,
        "LS": ToolEntry("search", ("path",)),
        "ToolSearch": ToolEntry("search", ("query",), quiet=True),
        "Bash": _COMMAND,
        "PowerShell": _COMMAND,
        "Monitor": ToolEntry("execute", ("description", "command")),
        "BashOutput": _SHELL_ID,
        "KillShell": _SHELL_ID,
        "KillBash": _SHELL_ID,
        "TaskOutput": _SHELL_ID,
        "TaskStop": _SHELL_ID,
        "TodoWrite": _TODO,
        "TaskCreate": ToolEntry("think", ("subject", "description")),
        "TaskUpdate": ToolEntry("think", ("taskId",)),
        "TaskGet": ToolEntry("think", ("taskId",), quiet=True),
        "TaskList": ToolEntry("think", quiet=True),
        "EnterPlanMode": ToolEntry("think"),
        "ExitPlanMode": ToolEntry("think", ("plan",), asks=True),
        "AskUserQuestion": ToolEntry("other", ("question",), asks=True),
        "ScheduleWakeup": ToolEntry("other", ("reason",)),
        "WebFetch": ToolEntry("fetch", ("url",)),
        "WebSearch": ToolEntry("fetch", ("query",)),
        "Task": _TASK,
        "Agent": _TASK,
        "SendMessage": ToolEntry("agent", ("summary", "message", "content")),
        "Skill": ToolEntry("agent", ("skill",)),
    },
    "codex": {
        "exec_command": _COMMAND,
        "write_stdin": ToolEntry("execute", ("chars",)),
        "shell": _COMMAND,
        "shell_command": _COMMAND,
        "local_shell": _COMMAND,
        "unified_exec": ToolEntry("execute", ("input",)),
        "exec": ToolEntry("execute"),
        "js": ToolEntry("execute"),
        "apply_patch": ToolEntry("edit", patch=("input",)),
        "view_image": ToolEntry("read", ("path",)),
        "list_dir": ToolEntry("search", ("dir_path",)),
        "tool_search": ToolEntry("search", ("query",), quiet=True),
        "update_plan": _TODO,
        "web_search": ToolEntry("fetch", ("query", "url")),
        "web__run": ToolEntry("fetch"),
        "image_generation": ToolEntry("other", ("prompt",)),
        "request_user_input": ToolEntry("other", asks=True),
        "spawn_agent": ToolEntry("agent", ("message", "description", "prompt")),
        "send_message": ToolEntry("agent", ("message",)),
        "send_input": ToolEntry("agent", ("message",)),
        "wait_agent": ToolEntry("agent", ("ids",)),
        "close_agent": ToolEntry("agent", ("id",)),
    },
    "gemini": {
        "read_file": ToolEntry("read", _FILE),
        "replace": ToolEntry("edit", ("file_path",), old=("old_string",), new=("new_string",)),
        "write_file": ToolEntry("edit", ("file_path",), new=("content",)),
        "list_directory": ToolEntry("search", ("dir_path", "path")),
        "glob": ToolEntry("search", ("pattern",), ("dir_path",)),
        "grep_search": ToolEntry("search", ("pattern",), ("dir_path", "path")),
        "search_file_content": ToolEntry("search", ("pattern",), ("dir_path", "path")),
        "run_shell_command": _COMMAND,
        "run_command": _COMMAND,
        "write_todos": _TODO,
        "update_topic": ToolEntry("think", ("title",)),
        "complete_task": ToolEntry("think", ("result",)),
        "ask_user": ToolEntry("other", asks=True),
        "exit_plan_mode": ToolEntry("think", ("plan_filename", "plan_path")),  # the plan itself is in that file
        "invoke_agent": ToolEntry("agent", ("prompt",)),
        "activate_skill": ToolEntry("agent", ("name",)),
        "web_fetch": _FETCH,
    },
    "opencode": {
        "read": ToolEntry("read", ("filePath",)),
        "edit": ToolEntry("edit", ("filePath",), old=("oldString",), new=("newString",)),
        "write": ToolEntry("edit", ("filePath",), new=("content",)),
        "apply_patch": ToolEntry("edit", patch=("patchText",)),
        "grep": ToolEntry("search", ("pattern",), ("path", "include")),
        "glob": ToolEntry("search", ("pattern",), ("path",)),
        "bash": _COMMAND,
        "todowrite": _TODO,
        "question": ToolEntry("other", asks=True),
        "task": _TASK,
        "skill": ToolEntry("agent", ("name",)),
        "webfetch": _FETCH,
        "compress": ToolEntry("think", ("topic",)),
    },
    "cursor": {
        "Read": ToolEntry("read", ("path",)),
        "StrReplace": ToolEntry("edit", ("path",), old=("old_string",), new=("new_string",)),
        "Write": ToolEntry("edit", ("path",), new=("contents",)),
        "Delete": ToolEntry("delete", ("path",)),
        "Grep": _SEARCH,
        "Glob": ToolEntry("search", ("glob_pattern",), ("target_directory",)),
        "GetDynamicTools": ToolEntry("search", ("toolName", "pattern", "namespace"), quiet=True),
        "Shell": _COMMAND,
        "AwaitShell": _SHELL_ID,
        "TodoWrite": _TODO,
        "CreatePlan": ToolEntry("think", ("name",), asks=True),
        "AskQuestion": ToolEntry("other", ("title",), asks=True),
        "SwitchMode": ToolEntry("other", ("target_mode_id",)),
        "Task": _TASK,
        "WebSearch": ToolEntry("fetch", ("query",)),
        "WebFetch": ToolEntry("fetch", ("url",)),
    },
    "copilot": {
        "view": ToolEntry("read", ("path",)),
        "edit": ToolEntry("edit", ("path",), old=("old_str",), new=("new_str",)),
        "str_replace": ToolEntry("edit", ("path",), old=("old_str",), new=("new_str",)),
        "create": ToolEntry("edit", ("path",), new=("file_text",)),
        "apply_patch": ToolEntry("edit", patch=("patch",)),
        "grep": ToolEntry("search", ("pattern",), ("paths", "path", "glob")),
        "rg": ToolEntry("search", ("pattern",), ("paths", "path", "glob")),
        "glob": ToolEntry("search", ("pattern",), ("paths", "path")),
        "session_store_sql": ToolEntry("search", ("description", "query")),
        "sql": ToolEntry("think", ("description", "query")),
        "bash": _COMMAND,
        "local_shell": _COMMAND,
        "read_bash": _SHELL_ID,
        "stop_bash": _SHELL_ID,
        "ask_user": ToolEntry("other", ("question", "message"), asks=True),
        "exit_plan_mode": ToolEntry("think", ("summary",), asks=True),
        "rename_session": ToolEntry("other", ("title",)),
        "task_complete": ToolEntry("think", ("summary",)),
        "task": _TASK,
        "read_agent": ToolEntry("agent", ("agent_id",)),
        "list_agents": ToolEntry("agent", quiet=True),
        "skill": ToolEntry("agent", ("skill",)),
        "web_fetch": _FETCH,
        "web_search": _FETCH,
    },
    "pi": {
        "read": ToolEntry("read", ("path",)),
        "edit": ToolEntry("edit", ("path",), old=("oldText",), new=("newText",), edits=("edits",)),
        "write": ToolEntry("edit", ("path",), new=("content",)),
        "bash": _COMMAND,
        "grep": ToolEntry("search", ("pattern",), ("path", "glob")),
        "ls": ToolEntry("search", ("path",)),
    },
    "antigravity": {
        "view_file": ToolEntry("read", ("AbsolutePath",)),
        "view_file_outline": ToolEntry("read", ("AbsolutePath",)),
        "write_to_file": ToolEntry("edit", ("TargetFile",), new=("CodeContent",)),
        "replace_file_content": ToolEntry(
            "edit", ("TargetFile",), old=("TargetContent",), new=("ReplacementContent",), edits=("ReplacementChunks",)
        ),
        "multi_replace_file_content": ToolEntry(
            "edit", ("TargetFile",), old=("TargetContent",), new=("ReplacementContent",), edits=("ReplacementChunks",)
        ),
        "grep_search": ToolEntry("search", ("Query",), ("SearchPath",)),
        "list_dir": ToolEntry("search", ("DirectoryPath",)),
        "find_by_name": ToolEntry("search", ("Pattern",), ("SearchDirectory",)),
        "run_command": ToolEntry("execute", ("CommandLine",)),
        "command_status": _SHELL_ID,
        "search_web": ToolEntry("fetch", ("query", "Query")),
        "read_url_content": ToolEntry("fetch", ("Url",)),
        "generate_image": ToolEntry("other", ("Prompt",)),
        "ask_question": ToolEntry("other", ("toolSummary",)),
        "invoke_subagent": ToolEntry("agent", ("toolSummary",)),
        "manage_subagents": ToolEntry("agent", ("toolSummary",)),
        "send_message": ToolEntry("agent", ("Message",)),
    },
    "cline": {
        "read_files": ToolEntry("read", ("files", "path")),
        "editor": ToolEntry("edit", ("path",), old=("old_text",), new=("new_text",), part=("insert_line",)),
        "apply_patch": ToolEntry("edit", patch=("patch", "input")),
        "search_codebase": ToolEntry("search", ("queries", "query")),
        "run_commands": ToolEntry("execute", ("commands",)),
        "ask_question": ToolEntry("other", ("question",), asks=True),
        "fetch_web_content": ToolEntry("fetch", ("url",)),
        "spawn_agent": ToolEntry("agent", ("task",)),
        "skills": ToolEntry("agent", ("skill",)),
    },
    "kimi": {
        "Read": ToolEntry("read", ("path",)),
        "ReadMediaFile": ToolEntry("read", ("path",)),
        "Edit": ToolEntry("edit", ("path",), old=("old_string",), new=("new_string",), edits=("edits",)),
        "Write": ToolEntry("edit", ("path",), new=("content",)),
        "Grep": _SEARCH,
        "Glob": ToolEntry("search", ("pattern",), ("path",)),
        "Bash": _COMMAND,
        "TaskOutput": _SHELL_ID,
        "TaskStop": _SHELL_ID,
        "TaskList": ToolEntry("think", quiet=True),
        "WaitFor": _SHELL_ID,
        "TodoList": ToolEntry("think", items=("todos",)),
        "EnterPlanMode": ToolEntry("think"),
        "ExitPlanMode": ToolEntry("think", ("plan",), asks=True),
        "AskUserQuestion": ToolEntry("other", ("question",), asks=True),
        "NotifyUser": ToolEntry("other", ("message",)),
        "FetchURL": ToolEntry("fetch", ("url",)),
        "WebSearch": ToolEntry("fetch", ("query",)),
        "Agent": _TASK,
        "AgentSwarm": ToolEntry("agent", ("description",)),
        "Skill": ToolEntry("agent", ("skill",)),
    },
    "qwen": {
        "read_file": ToolEntry("read", _FILE),
        "zoom_image": ToolEntry("read", _FILE),
        "edit": ToolEntry("edit", ("file_path",), old=("old_string",), new=("new_string",)),
        "write_file": ToolEntry("edit", ("file_path",), new=("content",)),
        "notebook_edit": ToolEntry("edit", _FILE, new=("new_source",), part=("new_source",)),
        "list_directory": ToolEntry("search", ("path",)),
        "glob": ToolEntry("search", ("pattern",), ("path",)),
        "grep_search": ToolEntry("search", ("pattern",), ("path", "glob")),
        "lsp": ToolEntry("search", ("operation", "filePath")),
        "tool_search": ToolEntry("search", ("query",), quiet=True),
        "run_shell_command": _COMMAND,
        "monitor": ToolEntry("execute", ("description", "command")),
        "todo_write": _TODO,
        "save_memory": ToolEntry("think", ("fact",)),
        "enter_plan_mode": ToolEntry("think"),
        "exit_plan_mode": ToolEntry("think", ("plan",), asks=True),
        "ask_user_question": ToolEntry("other", ("question",), asks=True),
        "get_goal": ToolEntry("think", quiet=True),
        "update_goal": ToolEntry("think", ("status",)),
        "web_fetch": _FETCH,
        "web_search": _FETCH,
        "agent": _TASK,
        "send_message": ToolEntry("agent", ("message",)),
        "list_agents": ToolEntry("agent", quiet=True),
        "task_stop": ToolEntry("agent", ("task_id",)),
        "skill": ToolEntry("agent", ("skill",)),
    },
    "vscode": {
        "read_file": ToolEntry("read", ("filePath",)),
        "view_image": ToolEntry("read", ("filePath",)),
        "get_errors": ToolEntry("read", ("filePaths",)),
        "create_file": ToolEntry("edit", ("filePath",), new=("content",)),
        "insert_edit_into_file": ToolEntry("edit", ("filePath", "explanation"), new=("code",), part=("code",)),
        "replace_string_in_file": ToolEntry("edit", ("filePath",), old=("oldString",), new=("newString",)),
        "multi_replace_string_in_file": ToolEntry(
            "edit",
            ("explanation",),
            old=("oldString",),
            new=("newString",),
            edits=("replacements",),
            file=("filePath",),
        ),
        "apply_patch": ToolEntry("edit", patch=("input",)),
        "file_search": ToolEntry("search", ("query",)),
        "grep_search": ToolEntry("search", ("query",), ("includePattern",)),
        "semantic_search": ToolEntry("search", ("query",)),
        "list_dir": ToolEntry("search", ("path",)),
        "run_in_terminal": _COMMAND,
        "get_terminal_output": _SHELL_ID,
        "manage_todo_list": ToolEntry("think", items=("todoList",)),
        "fetch_webpage": ToolEntry("fetch", ("urls", "query")),
        "runSubagent": _TASK,
    },
    "zot": {
        "read": ToolEntry("read", ("path",)),
        "write": ToolEntry("edit", ("path",), new=("content",)),
        "bash": _COMMAND,
    },
}


def _by_name() -> dict[str, ToolEntry]:
    known: dict[str, ToolEntry] = {}
    for tools in TOOLS.values():
        for name, tool in tools.items():
            key = name.lower()
            known[key] = known[key].merged(tool) if key in known else tool
    return known


_KNOWN: Final = _by_name()
# Tools of other origin (extensions, MCP, versions that are not known yet), judged by their arguments alone.
UNKNOWN: Final = ToolEntry(
    "other",
    (
        "command", "cmd", "file_path", "path", "notebook_path", "url", "query", "pattern", "description",
        "prompt", "subject", "skill", "question", "input", "name",
    ),
)  # fmt: skip


def tool(name: str) -> ToolEntry:
    """Return the table's row for a tool, `UNKNOWN` if it has none."""
    return _KNOWN.get(name.lower(), UNKNOWN)


def is_silent(name: str, agent: str, server: Any = "") -> bool:
    """Return whether a call is not shown itself: what it asks is, or it is bookkeeping of this agent's client.

    A tool of a server only shares its name with one of a client.
    """
    known = TOOLS.get(agent, {}).get(name) or tool(name)
    return not server and (known.asks or known.quiet)
