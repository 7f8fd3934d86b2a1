"""A scripted model with the interfaces of nine clients. It answers each request with a stream of events.

    POST /v1/messages                               Claude Code
    POST /v1/responses                              Codex
    POST /v1/chat/completions                       Cline, Copilot CLI, Kimi Code, OpenCode, Pi, Qwen Code
    POST /v1beta/models/M:streamGenerateContent     Gemini CLI

Usage: `python model_server.py LOG`. The server brings up the loopback device, which is down in a new network
namespace, listens on a free port, writes the port to the first line of LOG, and exits when its standard input
closes. LOG contains the conversation as JSON lines, in order:

    {"event": "ready", "port": 40000}
    {"event": "prompt", "text": …}                                  the person's prompt
    {"event": "answer", "text": …, "thinking"?: …, "call"?: {"id", "name"}}
    {"event": "result", "call": id, "output": …}                    the result of a tool
    {"event": "aside", "path": …}                                   a client's own request (for a title)
    {"event": "waiting"}                                            a part of a slow answer was sent
    {"event": "aborted", "text": …}                                 the client hung up after this part of an answer

Every answer is numbered, repeats the prompt without a client's tags, and ends with lines that would be commands if a person had typed
them. Marks in a prompt change the answer:

    (tool)      thinking, a text and a call, which the client runs; the call's result is answered by a text
    (write)     the same, with a call that writes a file: the client may ask for permission
    (nap)       the same, with a call that takes a minute
    (recall NAME {…})   a call of a tool of `katod mcp`, with these arguments
    (slow)      the answer stops in the middle until the file LOG.go exists, which is then removed

If the instructions say that command lines are to be ignored, an answer does not repeat them. LOG.request is the newest
request that was answered, as the client sent it.
"""

import fcntl
import itertools
import json
import os
import re
import select
import socket
import struct
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

TOOLS = {  # the clients' shell tools, and the argument that is the command
    "exec_command": "cmd",
    "bash": "command",
    "Bash": "command",
    "run_shell_command": "command",
    "run_commands": "commands",
}
COMMAND = "cat note.txt"
NAP = "sleep 60  # intentional-sleep: it is slow"  # without such words, Qwen Code does not run it
CALLS = {"(tool)": COMMAND, "(write)": f"{COMMAND} > copy.txt", "(nap)": NAP}
RECALL = re.compile(r"\(recall (\w+) (\{.*\})\)")
TOLD = "are for another program"  # in the instructions that `katod setup` adds
BAIT = "::start bait.md\n\n::stop"
REST = "\n\nThe rest"  # how the second half of a slow answer begins
INJECTED = (
    "<",
    "# AGENTS.md",
    "[Request interrupted",
    "This session is being continued",
)  # prefixes of texts that a client adds in the person's role
DATE = re.compile(r"<current_datetime>[^<]*</current_datetime>\s*")  # before each prompt of Copilot CLI
TYPED = re.compile(r'<user_input mode="\w+">(.*)</user_input>\s*', re.DOTALL)  # around each prompt of Cline
PIECE = 16
LONGEST = 1500  # characters: a longer prompt is the client's own, for a summary,
WHOLE = "(whole)"  # unless it begins with this
POLL = 0.02
PATIENCE = 60.0  # seconds that a slow answer waits


def loopback_up():
    """Bring up the loopback device; if that is not permitted, it is up already."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(handle, 0x8913, request))[1]  # SIOCGIFFLAGS
        if not flags & 1:
            fcntl.ioctl(handle, 0x8914, struct.pack("16sh14x", b"lo", flags | 1))  # SIOCSIFFLAGS


def said(content):
    """Return the person's text in a message, whose content is a string or a list of parts."""
    texts = [content] if isinstance(content, str) else [part.get("text", "") for part in content or []]
    parts = [TYPED.sub(r"\1", DATE.sub("", text)).replace("\r", "\n") for text in texts]
    return "\n".join(part for part in parts if part and not part.startswith(INJECTED))


def unquoted(text):
    """Return a prompt without the quotes and escapes that `opencode run` adds if it contains a blank."""
    return text[1:-1].replace('\\"', '"') if text[:1] == '"' else text


def pieces(text):
    """Return a text in the pieces in which it is streamed; a new one begins at the second half."""
    first, mark, second = text.partition(REST)
    halves = [first, mark + second]
    return [half[start : start + PIECE] for half in halves for start in range(0, len(half), PIECE)]


def arguments(call):
    """Return the arguments of a call of a shell tool."""
    if "input" in call:
        return call["input"]
    if call["name"] == "run_commands":
        return {"commands": [call["command"]]}
    given = {TOOLS[call["name"]]: call["command"], "description": "Reads the note"}
    if call["name"] == "exec_command" and call["command"] == CALLS["(write)"]:  # else Codex does not ask
        given |= {"sandbox_permissions": "require_escalated", "justification": "Shall I copy the note?"}
    return given


def script(number, prompt, results, tool):
    """Return answer `number` as it is logged, with a call if the prompt asks for one."""
    command = next((command for mark, command in CALLS.items() if mark in prompt), "")
    recall = RECALL.search(prompt)
    if (command or recall) and not results:
        thinking = f"Thought {number}: I shall look before I answer."
        call = {"id": f"call_{number}", "name": tool, "command": command}
        if recall:
            call = {"id": f"call_{number}", "name": tool, "input": json.loads(recall[2])}
        return {"thinking": thinking, "text": f"Answer {number}: let me look.\n\n{BAIT}", "call": call}
    rest = f"{REST} of it." if "(slow)" in prompt else ""
    words = "\n".join(line for line in prompt.splitlines() if not line.startswith("<")).strip()
    return {"text": f"Answer {number} to this:\n\n{words}{rest}\n\n{BAIT}"}


def without_commands(prompt):
    """Return a prompt without its command lines."""
    return "\n".join(line for line in prompt.splitlines() if not line.startswith("::"))


class Messages:
    """The Anthropic Messages interface."""

    ending = "/messages"

    @staticmethod
    def newest(body):
        """Return the newest prompt of a request, and the tool results after it."""
        prompt, results = "", []
        for message in body["messages"]:
            content = message["content"]
            parts = [part for part in content if isinstance(part, dict)]
            answers = [part for part in parts if part["type"] == "tool_result"]
            results += [(part["tool_use_id"], part.get("content")) for part in answers]
            if message["role"] == "user" and (text := said(content)):  # after a refusal beside the result
                prompt, results = text, []
        return prompt, results

    @staticmethod
    def tools(body):
        """Return the names of the tools that the client offers; none if it asks for a title."""
        return [tool["name"] for tool in body.get("tools") or []]

    @classmethod
    def stream(cls, number, answer):
        """Yield the rows of an answer; the last row ends it."""
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "scripted", "content": []}
        usage = {"input_tokens": 100, "output_tokens": 20}
        ending = {"stop_reason": None, "stop_sequence": None}
        yield {"type": "message_start", "message": {**message, **ending, "usage": usage}}
        for index, (block, deltas) in enumerate(cls._blocks(answer)):
            yield {"type": "content_block_start", "index": index, "content_block": block}
            for delta in deltas:
                yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        reason = {**ending, "stop_reason": "tool_use" if "call" in answer else "end_turn"}
        yield {"type": "message_delta", "delta": reason, "usage": usage}
        yield {"type": "message_stop"}

    @staticmethod
    def _blocks(answer):
        """Yield each block as it begins, and its deltas."""
        if thinking := answer.get("thinking"):
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(thinking)]
            signed = {"type": "signature_delta", "signature": "bm9uZQ=="}
            yield {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signed]
        yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces(answer["text"])]
        if call := answer.get("call"):
            delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments(call))}
            yield {"type": "tool_use", "id": call["id"], "name": call["name"], "input": {}}, [delta]


class Responses:
    """The OpenAI Responses interface."""

    ending = "/responses"

    @staticmethod
    def newest(body):
        """Return the newest prompt of a request, and the tool results after it."""
        prompt, results = "", []
        for item in body["input"]:
            if item.get("type") == "function_call_output":
                results.append((item["call_id"], item["output"]))
            elif item.get("role") == "user" and (text := said(item.get("content"))):
                prompt, results = text, []
        return prompt, results

    @staticmethod
    def tools(body):
        """Return the names of the tools that the client offers; none if it asks for a title."""
        if "schema" in ((body.get("text") or {}).get("format") or {}):
            return []
        spaces = [tool for tool in body.get("tools") or [] if tool["type"] == "namespace"]
        return ["exec_command", *(f"{space['name']}/{tool['name']}" for space in spaces for tool in space["tools"])]

    @classmethod
    def stream(cls, number, answer):
        """Yield the rows of an answer; the last row ends it."""
        response = {"id": f"resp_{number}", "object": "response", "status": "in_progress", "output": []}
        yield {"type": "response.created", "response": response}
        items = list(cls._items(number, answer))
        for index, item in enumerate(items):
            yield from cls._item(index, item)
        usage = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}
        done = {**response, "status": "completed", "output": items, "usage": usage}
        yield {"type": "response.completed", "response": done}

    @staticmethod
    def _items(number, answer):
        if "thinking" in answer:
            summary = [{"type": "summary_text", "text": answer["thinking"]}]
            yield {"type": "reasoning", "id": f"rs_{number}", "summary": summary, "encrypted_content": "bm9uZQ=="}
        yield {
            "type": "message",
            "id": f"msg_{number}",
            "role": "assistant",
            "status": "completed",
            "phase": "commentary" if "call" in answer else "final_answer",
            "content": [{"type": "output_text", "text": answer["text"], "annotations": []}],
        }
        if "call" in answer:
            call = answer["call"]
            space, _, name = call["name"].rpartition("/")
            yield ({"namespace": space} if space else {}) | {
                "type": "function_call",
                "id": f"fc_{number}",
                "call_id": call["id"],
                "name": name,
                "arguments": json.dumps(arguments(call)),
                "status": "completed",
            }

    @staticmethod
    def _item(index, item):
        begun = {**item, "status": "in_progress"} | ({"content": []} if item["type"] == "message" else {})
        yield {"type": "response.output_item.added", "output_index": index, "item": begun}
        for delta in pieces(item["content"][0]["text"]) if item["type"] == "message" else ():
            place = {"item_id": item["id"], "output_index": index, "content_index": 0}
            yield {"type": "response.output_text.delta", **place, "delta": delta}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}


class ChatCompletions:
    """The OpenAI chat interface, with the thinking that many servers add to it."""

    ending = "/chat/completions"

    @staticmethod
    def newest(body):
        """Return the newest prompt of a request, and the tool results after it."""
        prompt, results = "", []
        for message in body["messages"]:
            if message["role"] == "tool":
                results.append((message["tool_call_id"], message["content"]))
            elif message["role"] == "user" and (text := said(message.get("content"))):
                prompt, results = unquoted(text), []
        return prompt, results

    @staticmethod
    def tools(body):
        """Return the names of the tools that the client offers; none if it asks for a title."""
        return [tool["function"]["name"] for tool in body.get("tools") or []]

    @staticmethod
    def stream(number, answer):
        """Yield the rows of an answer; the last row ends it."""
        base = {"id": f"chat_{number}", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}

        def chunk(delta, reason=None):
            return {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

        yield chunk({"role": "assistant", "content": ""})
        for delta in pieces(answer.get("thinking", "")):
            yield chunk({"reasoning_content": delta})
        for delta in pieces(answer["text"]):
            yield chunk({"content": delta})
        if call := answer.get("call"):
            function = {"name": call["name"], "arguments": json.dumps(arguments(call))}
            yield chunk({"tool_calls": [{"index": 0, "id": call["id"], "type": "function", "function": function}]})
        yield chunk({}, "tool_calls" if call else "stop")
        yield {**base, "choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}}
        yield "[DONE]"


class GenerateContent:
    """The Gemini interface."""

    ending = ":streamGenerateContent"

    @staticmethod
    def newest(body):
        """Return the newest prompt of a request, and the tool results after it."""
        prompt, results = "", []
        for content in body["contents"]:
            parts = content.get("parts") or []
            answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
            results += [(answer.get("id"), answer.get("response")) for answer in answers]
            if content.get("role") == "user" and not answers and (text := said(parts)):
                prompt, results = text, []
        return prompt, results

    @staticmethod
    def tools(body):
        """Return the names of the tools that the client offers."""
        groups = [tool.get("functionDeclarations") or [] for tool in body.get("tools") or []]
        return [function["name"] for group in groups for function in group]

    @staticmethod
    def stream(number, answer):
        """Yield the rows of an answer; the last row ends it."""

        def row(part, **ending):
            candidate = {"index": 0, "content": {"role": "model", "parts": [part]}, **ending}
            usage = {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}
            return {"candidates": [candidate], "usageMetadata": usage, "responseId": f"gemini_{number}"}

        if "thinking" in answer:
            yield row({"text": f"**Looking** {answer['thinking']}", "thought": True})
        for text in pieces(answer["text"]):
            yield row({"text": text})
        if call := answer.get("call"):
            function = {"id": call["id"], "name": call["name"], "args": arguments(call)}
            yield row({"functionCall": function, "thoughtSignature": "bm9uZQ=="})
        yield row({"text": ""}, finishReason="STOP")


INTERFACES = (Messages, Responses, ChatCompletions, GenerateContent)


class Model(ThreadingHTTPServer):
    """The server, with its log and the number of the next answer."""

    daemon_threads = True

    def __init__(self, log):
        super().__init__(("127.0.0.1", 0), Handler)
        self._log, self._lock, self.numbers = log, threading.Lock(), itertools.count(1)
        self._go = Path(f"{log.name}.go")
        self.log("ready", port=self.server_port)

    def log(self, event, **fields):
        """Append one line to the log and flush it."""
        with self._lock:
            self._log.write(json.dumps({"event": event, **fields}, ensure_ascii=False) + "\n")
            self._log.flush()

    def keep(self, body):
        """Keep a request as it was sent, in place of the one before."""
        Path(f"{self._log.name}.request").write_text(json.dumps(body, ensure_ascii=False))

    def released(self):
        """Return whether a slow answer may go on; it is true once for each time that the file was created."""
        try:
            self._go.unlink()
        except FileNotFoundError:
            return False
        return True


class Handler(BaseHTTPRequestHandler):
    """One request of the client; the connection closes after every answer (HTTP/1.0)."""

    def log_message(self, *_args):
        """Print nothing; the log has everything."""

    def do_GET(self):
        """Answer a request for the list of models with an empty list."""
        self._head("application/json")
        self.wfile.write(b'{"models": [], "data": []}')

    def do_POST(self):
        """Log the new part of the request, answer it, and log the answer before its last row is sent."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path = self.path.partition("?")[0]
        interface = next((one for one in INTERFACES if path.endswith(one.ending)), None)
        if interface is None:
            self.server.log("aside", path=path)
            self.send_error(404)
            return
        tool = next((name for name in interface.tools(body) if name in TOOLS), "")
        prompt, results = interface.newest(body)
        if not tool or (len(prompt) > LONGEST and not prompt.startswith(WHOLE)):
            self.server.log("aside", path=path)
            self._answer(interface.stream(0, {"text": f"An aside\n\n{BAIT}"}))
            return
        if results:
            self.server.log("result", call=results[-1][0], output=str(results[-1][1]))
        else:
            self.server.log("prompt", text=prompt)
        if recall := RECALL.search(prompt):
            tool = next((name for name in interface.tools(body) if name.endswith(recall[1])), "")
            assert tool, f"the client does not offer {recall[1]}"
        number = next(self.server.numbers)
        self.server.keep(body)
        heard = without_commands(prompt) if TOLD in json.dumps(body) else prompt
        answer = script(number, heard, results, tool)
        self._answer(interface.stream(number, answer), answer)

    def _head(self, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()

    def _answer(self, rows, answer=None):
        """Send all rows; the answer is logged before the last one is sent."""
        self._head("text/event-stream")
        *rows, last = rows
        first, rest, _ = answer["text"].partition(REST) if answer else ("", "", "")
        for row in rows:
            if rest and json.dumps(rest)[1:-1] in json.dumps(row):
                if not self._goes_on():
                    self.server.log("aborted", text=first)
                    return
                rest = ""
            self._send(row)
        if answer:
            self.server.log("answer", **answer)
        self._send(last)

    def _goes_on(self):
        """Wait until the answer may go on; return false if the client hung up before."""
        self.server.log("waiting")
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and not self.server.released():
            if select.select([self.connection], [], [], POLL)[0] and self._has_hung_up():
                return False
        return True

    def _has_hung_up(self):
        try:
            return not self.connection.recv(1, socket.MSG_PEEK)
        except ConnectionResetError:
            return True

    def _send(self, row):
        kind = f"event: {row['type']}\n" if "type" in row else ""
        data = row if isinstance(row, str) else json.dumps(row)
        self.wfile.write(f"{kind}data: {data}\n\n".encode())


def main():
    """Serve until standard input closes, then exit at once and so end the namespace if this is its first process."""
    loopback_up()
    with Path(sys.argv[1]).open("a", encoding="utf-8") as log, Model(log) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sys.stdin.buffer.read()
        os._exit(0)


if __name__ == "__main__":
    main()
