"""The 42 events of `foundation.protocols.ai.claude`: which of them katod writes, and from what. Pure data.

The names are those of the protocol, for every agent. An event of another name cannot be written.
"""

from typing import Final, Literal, NamedTuple

PREFIX: Final = "foundation.protocols.ai.claude"
LONGEST_TYPE: Final = 255  # bytes

# What is recorded; part of it, or by some agents only; what follows from something else by a rule; nothing.
Evidence = Literal["recorded", "partly", "derived", "none"]
# Which options of a recording an event needs: none, `thinking`, any `tools` but "none", or `tools = "full"`.
Needs = Literal["", "thinking", "tools", "full"]


class Row(NamedTuple):
    """One event: what katod has for it, what it is made of or why it is not written, and the options that it needs."""

    name: str
    evidence: Evidence
    why: str
    needs: Needs = ""

    @property
    def is_written(self) -> bool:
        """Whether katod writes it."""
        return self.evidence != "none"


ROWS: Final = (
    Row("session.start", "partly", "the start that the agent records; `model` only if it is known by then"),
    Row("session.end", "partly", "only where the agent records an end: silence is not one"),
    Row("session.interrupted", "none", "a crash or a kill leaves no record"),
    Row("session.exported", "recorded", "katod's own export of a session, as its last line; never in a recording"),
    Row("session.replayed", "none", "katod replays no session"),
    Row("session.active", "derived", "`running` while it works or waits, else `idle`; the model once known; state"),
    Row("prompt", "recorded", "what a person, or who runs the agent, sent; no commands of the client"),
    Row("response", "recorded", "one for each text; tokens if its usage comes before the results of its tools"),
    Row("response.chunk", "none", "session files have whole texts only"),
    Row("response.interrupted", "partly", "a turn that was aborted, with the last text of it"),
    Row("thinking", "recorded", "without `thinking_text` if only an encrypted form is kept", "thinking"),
    Row("input.image", "recorded", 'an image of a prompt; its content with `content.attachments = "save"`'),
    Row("input.document", "partly", "a document of a prompt, likewise"),
    Row("tool.call", "recorded", "all but calls of MCP servers and sub-agents", "tools"),
    Row("tool.result", "recorded", "`exit_code` only if it is recorded", "tools"),
    Row("tool.error", "partly", "instead of a result: a call that was refused, or timed out", "tools"),
    Row("mcp.server.connected", "partly", "if instructions or tools are noted; else from the first use", "tools"),
    Row("mcp.tool.call", "recorded", "calls of MCP servers", "tools"),
    Row("mcp.tool.result", "recorded", "`output.text` is the text of the result", "tools"),
    Row("mcp.prompt.used", "partly", "a command `/mcp__server__prompt`, with its arguments as typed"),
    Row("mcp.resource.read", "recorded", "the tool `ReadMcpResourceTool`, once it succeeded", "tools"),
    Row("approval.request", "partly", "only of agents that record it: Copilot", "tools"),
    Row("approval.response", "partly", "a refusal and why; an approval only of agents that record it", "tools"),
    Row("file.change", "recorded", "what the agent keeps beside an edit; hashes where it keeps whole files", "tools"),
    Row("git.commit", "partly", "what `git commit` printed, or what the agent says of it", "tools"),
    Row("git.branch", "partly", "a change of the recorded branch, or what the agent says of it", "tools"),
    Row("git.diff.viewed", "derived", "the complete output of `git diff` or `git show`", "full"),
    Row("context.truncated", "none", "agents compact their context; what they drop besides leaves no record"),
    Row("context.summarized", "recorded", "a compaction; the turns since the last one are counted"),
    Row("context.overflow", "partly", "an error that says that the prompt is too long"),
    Row("memory.read", "partly", "a memory file that a tool or the client read, but not at the start", "tools"),
    Row("memory.write", "recorded", "a change of a memory file", "tools"),
    Row("agent.spawn", "recorded", "the call that starts a sub-agent, or the agent's record of it", "tools"),
    Row("agent.result", "recorded", "the result of that call, or the agent's record of it; tokens if known", "tools"),
    Row("agent.handoff", "none", "no agent records one"),
    Row("error", "recorded", "errors of the API, with retries; the status may be in the message"),
    Row("safety.blocked", "partly", "a refusal that the agent records"),
    Row("config.change", "recorded", "model, effort, provider, directory; the model also if another one answers"),
    Row("permission.change", "recorded", "permission mode and sandbox"),
    Row("usage.checkpoint", "recorded", "the sums at the end of a turn; costs only if the agent records them"),
    Row("cost.limit.reached", "none", "no agent records that it reached a limit"),
    Row("project", "none", "it configures a room: writing it would replace what its operators set"),
)  # fmt: skip
NEEDS: Final = {row.name: row.needs for row in ROWS}
WRITTEN: Final = frozenset(row.name for row in ROWS if row.is_written)
STATES: Final = frozenset({"session.active"})
# Those that are no part of a session's thread: the root of it, and the state of the room.
UNTHREADED: Final = STATES | {"session.start"}
