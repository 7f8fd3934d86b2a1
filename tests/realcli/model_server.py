"""A scripted model as Codex speaks to one: `POST /v1/responses`, answered by a stream of events.

Usage: `python model_server.py LOG`. It takes a free port of the loopback device (which it switches on,
for in a fresh network namespace that is off), tells it in the first line of LOG, and ends when its
standard input does. LOG then holds, as JSON lines, all that was said, in order:

    {"event": "ready", "port": 40000}
    {"event": "prompt", "text": …}                                  what the person asked
    {"event": "answer", "text": …, "thinking"?: …, "call"?: {"id", "name", "cmd"}}
    {"event": "result", "call": id, "output": …}                    what a tool gave back

Every answer is numbered, repeats the prompt, and ends in lines that would be commands had a person typed
them. A prompt that holds `(tool)` is answered by a thought, a text and a call; the call's result by a text.
"""

import fcntl
import itertools
import json
import os
import socket
import struct
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

TOOL = "exec_command"
COMMAND = "cat note.txt"
BAIT = "::start bait.md\n\n::stop"
INJECTED = ("<", "# AGENTS.md")  # how texts begin that the client adds in the person's role


def loopback_up():
    """Switch the loopback device on; where that is forbidden it is on already."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(handle, 0x8913, request))[1]  # SIOCGIFFLAGS
        if not flags & 1:
            fcntl.ioctl(handle, 0x8914, struct.pack("16sh14x", b"lo", flags | 1))  # SIOCSIFFLAGS


def message_text(item):
    """Return the text of one input message, whose content is a string or a list of parts."""
    content = item.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def newest(items):
    """Return the newest prompt of a request, and the tool results that stand behind it."""
    prompt, results = "", []
    for item in items:
        if item.get("type") == "function_call_output":
            results.append(item)
        elif item.get("role") == "user" and not message_text(item).startswith(INJECTED):
            prompt, results = message_text(item), []
    return prompt, results


def script(number, prompt, results):
    """Return answer `number` as it is logged: a call first where the prompt asks for one."""
    if "(tool)" in prompt and not results:
        call = {"id": f"call_{number}", "name": TOOL, "cmd": COMMAND}
        thinking = f"Thought {number}: I shall look before I answer."
        return {"thinking": thinking, "text": f"Answer {number}: let me look.\n\n{BAIT}", "call": call}
    return {"text": f"Answer {number} to this:\n\n{prompt.strip()}\n\n{BAIT}"}


def output_items(number, answer):
    """Return the items of one answer in the form of the Responses interface."""
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
        yield {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": call["id"],
            "name": call["name"],
            "arguments": json.dumps({"cmd": call["cmd"]}),
            "status": "completed",
        }


class Model(ThreadingHTTPServer):
    """The server, its log and the number of the next answer."""

    daemon_threads = True

    def __init__(self, log):
        super().__init__(("127.0.0.1", 0), Handler)
        self._log, self._lock, self.numbers = log, threading.Lock(), itertools.count(1)
        self.log("ready", port=self.server_port)

    def log(self, event, **fields):
        """Append one line to the log at once."""
        with self._lock:
            self._log.write(json.dumps({"event": event, **fields}, ensure_ascii=False) + "\n")
            self._log.flush()


class Handler(BaseHTTPRequestHandler):
    """One request of the client; every answer ends with its connection (HTTP/1.0)."""

    def log_message(self, *_args):
        """Print nothing: the log says what happened."""

    def do_GET(self):
        """Answer the question for the list of models: there is none."""
        self._head("application/json")
        self.wfile.write(b'{"models": [], "data": []}')

    def do_POST(self):
        """Log what is new in the request, answer by the script, and log the answer before its end."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.path.endswith("/responses"):
            self.send_error(404)
            return
        prompt, results = newest(body["input"])
        if results:
            self.server.log("result", call=results[-1]["call_id"], output=str(results[-1]["output"]))
        else:
            self.server.log("prompt", text=prompt)
        number = next(self.server.numbers)
        self._answer(number, script(number, prompt, results))

    def _head(self, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()

    def _answer(self, number, answer):
        self._head("text/event-stream")
        response = {"id": f"resp_{number}", "object": "response", "status": "in_progress", "output": []}
        self._send("response.created", response=response)
        items = list(output_items(number, answer))
        for index, item in enumerate(items):
            self._item(index, item)
        self.server.log("answer", **answer)
        usage = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}
        self._send(
            "response.completed",
            response={**response, "status": "completed", "output": items, "usage": usage},
        )

    def _item(self, index, item):
        begun = {**item, "status": "in_progress"}
        if item["type"] == "message":
            begun["content"] = []
        self._send("response.output_item.added", output_index=index, item=begun)
        if item["type"] == "message":
            text = item["content"][0]["text"]
            for start in range(0, len(text), 16):
                delta = text[start : start + 16]
                self._send(
                    "response.output_text.delta",
                    item_id=item["id"],
                    output_index=index,
                    content_index=0,
                    delta=delta,
                )
        self._send("response.output_item.done", output_index=index, item=item)

    def _send(self, kind, **fields):
        self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode())


def main():
    """Serve until standard input ends; then end at once, and with it the namespace, if this is its first."""
    loopback_up()
    with Path(sys.argv[1]).open("a", encoding="utf-8") as log, Model(log) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sys.stdin.buffer.read()
        os._exit(0)


if __name__ == "__main__":
    main()
