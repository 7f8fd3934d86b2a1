"""The server: the tools over standard input and output, with the official library."""

import json
import os
import re
from contextlib import suppress
from functools import partial
from io import StringIO
from typing import Any, Final, TextIO

import anyio
import anyio.to_thread
import mcp_types as types
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from katod import __version__
from katod.errors import KatodError, safe_message
from katod.mcp.pages import cut
from katod.mcp.recordings import Library
from katod.mcp.tools import INSTRUCTIONS, TOOLS, McpTool
from katod.store.integrity import HOW_TO_REPAIR, DatabaseError

_LONGEST: Final = 1000  # characters of an error
_GIVEN: Final = 80  # characters of an argument that is repeated in one
_NO_REQUEST: Final = "invalid request: it does not match the protocol, or contains invalid Unicode"
_NO_JSON: Final = "parse error: the line is no JSON text, or is nested too deep"
_BLANKS: Final = " \t\r\n"
_HALF: Final = re.compile("[\ud800-\udfff]")  # of a character: no text can be written with it
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
    with _input() as lines:
        async with stdio_server(anyio.wrap_file(StringIO())) as (_, writing), anyio.create_task_group() as tasks:
            passing, passed = anyio.create_memory_object_stream[SessionMessage | Exception](0)
            tasks.start_soon(_read, anyio.wrap_file(lines), passing, writing)
            await server.run(passed, writing, server.create_initialization_options())


def _input() -> TextIO:
    """Return standard input, in whose place nothing is left for other code to read.

    The library would read it as well, but does not say what is not valid in a line.
    """
    own, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return open(own, encoding="utf-8", errors="replace")


async def _read(lines: anyio.AsyncFile[str], passing: Any, writing: Any) -> None:
    """Pass on the messages that are read, and answer here what the library would leave unanswered."""
    # The client or the server may have ended in the meantime.
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        async with passing:
            async for line in lines:
                message = message_of(line)
                refused = None if isinstance(message, types.JSONRPCRequest) else refusal(line)
                if refused is not None:
                    await writing.send(SessionMessage(refused))
                elif message is not None:
                    await passing.send(SessionMessage(message))


def message_of(line: str) -> types.JSONRPCMessage | None:
    """Return the message that a line is for the library, None if it is none."""
    try:
        return types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:  # half a character is none of its validation errors
        return None


def refusal(line: str) -> types.JSONRPCError | None:
    """Return the answer to a line that is no valid request, None if it has none.

    That is a notification or a response, valid or not, or a blank line. The answer has the id of the line, null if no
    id can be taken from it. Raises nothing: no line that a client sends ends the server.
    """
    if not line.strip(_BLANKS):
        return None
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return _refused(None, types.PARSE_ERROR, _NO_JSON)
    if isinstance(row, dict) and _has_no_answer(row):
        return None
    return _refused(_id_of(row), types.INVALID_REQUEST, _NO_REQUEST)


def _refused(name: int | str | None, code: int, why: str) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=name, error=types.ErrorData(code=code, message=why))


def _has_no_answer(row: dict[str, Any]) -> bool:
    """Return whether a row is a response, or a notification as JSON-RPC has them."""
    if "method" not in row:
        return "result" in row or "error" in row
    is_notification = "id" not in row and row.get("jsonrpc") == "2.0" and isinstance(row["method"], str)
    return is_notification and isinstance(row.get("params"), dict | list | None)


def _id_of(row: Any) -> int | str | None:
    """Return the id of a request, None if it has none that an answer can have: true is an `int`, but no id."""
    name = row.get("id") if isinstance(row, dict) else None
    if isinstance(name, str):
        return None if _HALF.search(name) else name
    return name if type(name) is int else None


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
