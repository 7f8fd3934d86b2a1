"""The server: the tools over standard input and output, with the official library."""

import json
from contextlib import suppress
from functools import partial
from typing import Any, Final

import anyio
import anyio.to_thread
import mcp_types as types
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from katod import __version__
from katod.errors import KatodError, safe_message
from katod.mcp.pages import cut
from katod.mcp.recordings import Library
from katod.mcp.tools import INSTRUCTIONS, TOOLS, McpTool
from katod.store.integrity import HOW_TO_REPAIR, DatabaseError

_LONGEST: Final = 1000  # characters of an error
_GIVEN: Final = 80  # characters of an argument that is repeated in one
_NONE: Final = "invalid request: it does not match the protocol, or contains invalid Unicode"
_OF_A_MESSAGE: Final = 2  # names lead to a part of a message: its kind, and the part
_HINTS: Final = types.ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)


def serve(library: Library) -> None:
    """Answer requests about recordings until standard input ends."""
    anyio.run(_serve, library)


async def _serve(library: Library) -> None:
    one_at_a_time = anyio.CapacityLimiter(1)  # so that many requests take no more memory than one

    async def listed(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed_tools())

    async def called(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        act = partial(call, library, params.name, params.arguments or {})
        return await anyio.to_thread.run_sync(act, limiter=one_at_a_time)

    server = Server(
        "katod",
        version=__version__,
        title="katod: recorded sessions",
        instructions=INSTRUCTIONS,
        on_list_tools=listed,
        on_call_tool=called,
    )
    async with stdio_server() as (reading, writing), anyio.create_task_group() as tasks:
        passing, passed = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        tasks.start_soon(_pass_on, reading, passing, writing)
        await server.run(passed, writing, server.create_initialization_options())


async def _pass_on(reading: Any, passing: Any, writing: Any) -> None:
    """Pass on what is read, and answer invalid requests here: the library would leave them unanswered."""
    # The client or the server may have ended in the meantime.
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        async with passing:
            async for item in reading:
                refused = refusal(item) if isinstance(item, Exception) else None
                await (passing.send(item) if refused is None else writing.send(SessionMessage(refused)))


def refusal(error: Exception) -> types.JSONRPCError | None:
    """Return the answer to an invalid request that has an id, such as one with an unpaired surrogate.

    Raises nothing: no line that a client sends ends the server.
    """
    try:
        row = _row_of(error) if isinstance(error, ValidationError) else {}
        name = row["id"] if "method" in row else None
        str(name).encode()
        if type(name) not in (str, int):  # true is an `int`, but no id
            return None
        return types.JSONRPCError(
            jsonrpc="2.0", id=name, error=types.ErrorData(code=types.INVALID_REQUEST, message=_NONE)
        )
    except Exception:  # noqa: BLE001 - not JSON, too deep, without an id, or with one that is an unpaired surrogate
        return None


def _row_of(error: ValidationError) -> Any:
    """Return the row that is not valid: all of it is beside what it lacks, of each kind of message that it is not."""
    for wrong in error.errors(include_url=False, include_context=False):
        if not wrong["loc"]:
            return json.loads(wrong["input"])  # no JSON for a strict parser
        if wrong["type"] == "missing" and len(wrong["loc"]) == _OF_A_MESSAGE:
            return wrong["input"]
    return {}


def listed_tools() -> list[types.Tool]:
    """Return the tools as clients see them."""
    return [
        types.Tool(
            name=tool.name,
            title=tool.title,
            description=tool.description,
            input_schema=tool.schema,
            output_schema=tool.output_schema,
            annotations=_HINTS,
        )
        for tool in TOOLS.values()
    ]


def call(library: Library, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
    """Return the answer of a tool, or an error that says what to do instead. Raises nothing."""
    if name not in TOOLS:
        return _result([f"there is no tool {cut(name, 100)!r}; there are {', '.join(TOOLS)}"], is_error=True)
    tool = TOOLS[name]
    if wrong := _wrong(tool, arguments):
        return _result([f"{wrong} ({name} takes {', '.join(tool.properties)})"], is_error=True)
    try:
        answer = tool.call(library, **arguments)
        return _result(answer.blocks(), structured=answer.noted if tool.answered else None)
    except KatodError as error:  # without its path: tools take ids, and answer with ids
        reason = f"{error.what}{f' ({error.hint})' if error.hint else ''}"
    except DatabaseError:
        reason = f"katod's ledger cannot be read ({HOW_TO_REPAIR})"
    except Exception as error:  # noqa: BLE001 - the server goes on, and says nothing of what it read
        reason = f"katod failed: {safe_message(error)}"
    return _result([cut(reason, _LONGEST)], is_error=True)


def _wrong(tool: McpTool, arguments: dict[str, Any]) -> str:
    """Return what is wrong with the arguments of a call, an empty string if nothing is."""
    error = best_match(Draft202012Validator(tool.schema).iter_errors(arguments))
    if error is None:
        return ""
    given = repr(error.instance)
    message = error.message.replace(given, cut(given, _GIVEN))
    return cut("".join(f"{part}: " for part in error.absolute_path) + message, _LONGEST)


def _result(
    texts: list[str], *, is_error: bool = False, structured: dict[str, Any] | None = None
) -> types.CallToolResult:
    """Return an answer. Clients that take what is structured show nothing else, so it has to be all of it."""
    content: list[types.ContentBlock] = [types.TextContent(text=text) for text in texts]
    return types.CallToolResult(content=content, structured_content=structured, is_error=is_error)
