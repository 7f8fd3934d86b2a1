"""The oracle for `katod usage`: what each agent's answers used, read with the standard library only.

Each reader yields answers with a key by which copies of them are known, in other files, too; the largest counts of a
key are taken. Counts are those without the cache, from the cache, to the cache, and of the answer with its reasoning.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.oracle.common import Record, Sets, as_dict, as_text, records
from tests.oracle.vscode import state_of

Counts = tuple[int, int, int, int]
Answer = tuple[tuple[Any, ...], Counts]


def sums(sources: Iterable[tuple[str, Path]]) -> dict[str, Counts]:
    """Return what the sources of each agent used together."""
    used: dict[str, dict[tuple[Any, ...], Counts]] = defaultdict(dict)
    sources = sorted(sources)
    PARENTS.clear()
    for agent, path in sources:
        if agent == "codex":
            PARENTS.setdefault(*thread_of(path))
    for agent, path in sources:
        for key, counts in READERS[agent](path):
            known = used[agent].get(key)
            if any(counts) and (known is None or (known[3], sum(known[:3])) < (counts[3], sum(counts[:3]))):
                used[agent][key] = counts
    return {agent: tuple(map(sum, zip(*answers.values(), strict=True))) for agent, answers in used.items()}


def rows(path: Path) -> Iterator[tuple[int, Record]]:
    return ((offset, row) for offset, _, row in records(path, Counter()))


def number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def figures(row: Record, *names: str) -> Counts:
    return tuple(number(row.get(name)) for name in names)


def with_cached(prompt: int, read: int, written: int, output: int) -> Counts:
    """Return counts of which the first one includes the cached tokens."""
    return max(0, prompt - read - written), read, written, output


def claude(path: Path) -> Iterator[Answer]:
    for _, row in rows(path):
        message = as_dict(row.get("message"))
        usage = message.get("usage")
        if row.get("type") != "assistant" or not isinstance(usage, dict) or row.get("isApiErrorMessage"):
            continue
        if isinstance(message.get("id"), str) and message.get("model") != "<synthetic>":
            hour = as_text(row.get("timestamp"))[:13]  # a message with a short id may be another one
            key = (message["id"], "" if len(message["id"]) >= 16 else hour)
            names = "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"
            yield key, figures(usage, *names)


def codex(path: Path) -> Iterator[Answer]:
    """Yield each rise of the totals, known by them in the threads that go on from one another."""
    thread, is_recorded, last = thread_of(path)[0], False, None
    for _, row in rows(path):
        payload = as_dict(row.get("payload"))
        if row.get("type") == "token_usage_record":
            is_recorded = True
            yield (root(thread), payload.get("response_id")), codex_counts(as_dict(payload.get("usage")))
        elif payload.get("type") == "token_count" and (info := as_dict(payload.get("info"))) and not is_recorded:
            totals = info.get("total_token_usage")
            if totals != last:
                counts = codex_counts(as_dict(info.get("last_token_usage")))
                yield (root(thread), json.dumps(totals, sort_keys=True)), counts
            last = totals


def thread_of(path: Path) -> tuple[str, str]:
    """Return the thread of a rollout, and the one that it goes on from or works for."""
    for _, row in rows(path):
        payload = as_dict(row.get("payload"))
        if row.get("type") == "session_meta":
            above = as_text(payload.get("parent_thread_id")) or as_text(payload.get("forked_from_id"))
            return as_text(payload.get("id")) or path.stem, above
    return path.stem, ""


PARENTS: dict[str, str] = {}  # of threads


def root(thread: str) -> str:
    passed = {thread}
    while (above := PARENTS.get(thread)) and above not in passed:
        thread = above
        passed.add(thread)
    return thread


def codex_counts(usage: Record) -> Counts:
    names = "input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens"
    return with_cached(*figures(usage, *names))


def gemini(path: Path) -> Iterator[Answer]:
    documents: list[Record] = []
    text = path.read_text("utf-8", "replace")
    try:
        documents = [as_dict(json.loads(text))]
    except ValueError:
        documents = [row for _, row in rows(path)]
    session = next((as_text(row["sessionId"]) for row in documents if row.get("sessionId")), str(path))
    for document in documents:
        messages = document.get("messages") or as_dict(document.get("$set")).get("messages") or [document]
        for message in map(as_dict, messages):
            if message.get("type") == "gemini" and (tokens := as_dict(message.get("tokens"))):
                prompt, read, output, thoughts = figures(tokens, "input", "cached", "output", "thoughts")
                yield (session, message.get("id")), with_cached(prompt, read, 0, output + thoughts)


def opencode(path: Path) -> Iterator[Answer]:
    for value in opencode_values(path):
        if value.get("role") != "assistant" or not (tokens := as_dict(value.get("tokens"))):
            continue
        cache = as_dict(tokens.get("cache"))
        ended = as_dict(value.get("time")).get("completed")
        counts = number(tokens.get("input")), number(cache.get("read")), number(cache.get("write"))
        output = number(tokens.get("output")) + number(tokens.get("reasoning"))
        yield (ended, value.get("modelID"), str(tokens), value.get("cost")), (*counts, output)


def opencode_values(path: Path) -> Iterator[Record]:
    text, at = path.read_text("utf-8", "replace"), 0
    decoder = json.JSONDecoder()
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError:
            at = text.find("\n", at) + 1 or len(text)
            continue
        for message in map(as_dict, as_dict(value).get("messages") or [{"info": value}]):
            yield as_dict(message.get("info"))


def pi(path: Path) -> Iterator[Answer]:
    for _, row in rows(path):
        if used := as_dict(as_dict(row.get("message")).get("usage")) or as_dict(row.get("usage")):
            yield (row.get("id"), row.get("timestamp")), figures(used, "input", "cacheRead", "cacheWrite", "output")


def qwen(path: Path) -> Iterator[Answer]:
    for offset, row in rows(path):
        if row.get("type") == "assistant" and (usage := as_dict(row.get("usageMetadata"))):
            prompt, read, output = figures(usage, "promptTokenCount", "cachedContentTokenCount", "candidatesTokenCount")
            yield (row.get("uuid") or (str(path), offset), row.get("timestamp")), with_cached(prompt, read, 0, output)


def kimi(path: Path) -> Iterator[Answer]:
    names = "inputOther", "inputCacheRead", "inputCacheCreation", "output"
    found = [(offset, row, as_dict(row.get("event"))) for offset, row in rows(path)]
    is_stepped = any(event.get("type") == "step.end" and as_dict(event.get("usage")) for _, _, event in found)
    for offset, row, event in found:
        if event.get("type") == "step.end" and as_dict(event.get("usage")):
            yield (event.get("uuid") or (str(path), offset), row.get("time")), figures(event["usage"], *names)
        elif row.get("type") == "usage.record" and not is_stepped:
            yield (str(path), offset), figures(as_dict(row.get("usage")), *names)


def cline(path: Path) -> Iterator[Answer]:
    document = as_dict(json.loads(path.read_text("utf-8")))
    for message in map(as_dict, document.get("messages") or []):
        if usage := as_dict(message.get("metrics")):
            counts = figures(usage, "inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens")
            yield (message.get("id"), message.get("ts")), with_cached(*counts)


def copilot(path: Path) -> Iterator[Answer]:
    """Yield each message; where they have no input, what the session used up to its end stands for them."""
    names = "inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens"
    noted: dict[str, Record] = {}
    whole: Counts | None = None
    answers: list[tuple[Answer, bool]] = []
    for _, row in rows(path):
        data = as_dict(row.get("data"))
        if row.get("type") == "session.usage_record":
            usage = as_dict(data.get("usage"))
            noted[as_text(usage.get("apiCallId"))] = usage
        elif row.get("type") == "assistant.message":
            usage = noted.pop(as_text(data.get("apiCallId")) or "none", None) or data
            if "outputTokens" in usage:
                answers.append((((row.get("id"),), with_cached(*figures(usage, *names))), "inputTokens" in usage))
        elif row.get("type") == "session.shutdown":
            models = [as_dict(as_dict(one).get("usage")) for one in as_dict(data.get("modelMetrics")).values()]
            total = [with_cached(*figures(usage, *names)) for usage in models]
            whole = tuple(map(sum, zip(*total, strict=True))) if any("inputTokens" in one for one in models) else whole
    complete = [answer for answer, is_complete in answers if is_complete]
    if whole is None or len(complete) == len(answers):
        yield from (answer for answer, _ in answers)
        return
    yield from complete
    rest = [max(0, n - sum(counts[i] for _, counts in complete)) for i, n in enumerate(whole)]
    yield ([key for (key, _), is_complete in answers if not is_complete][-1]), tuple(rest)


def vscode(path: Path) -> Iterator[Answer]:
    for request in map(as_dict, state_of(path, Sets()).get("requests") or []):
        result = as_dict(request.get("result"))
        metadata, usage = as_dict(result.get("metadata")), as_dict(result.get("usage"))
        prompt = number(metadata.get("promptTokens", usage.get("promptTokens")))
        output = number(metadata.get("outputTokens", usage.get("completionTokens")))
        yield (request.get("requestId"),), (prompt, 0, 0, output)


def zot(path: Path) -> Iterator[Answer]:
    names = "input", "cache_read", "cache_write", "output"
    before: Counts = (0, 0, 0, 0)
    for offset, row in rows(path):
        if row.get("type") != "usage":
            continue
        if totals := as_dict(row.get("cumulative")):
            now = figures(totals, *names)
            yield (str(path), offset), tuple(max(0, one - other) for one, other in zip(now, before, strict=True))
            before = now
        else:
            yield (str(path), offset), figures(as_dict(row.get("usage")) or row, *names)


READERS = {
    "claude": claude, "cline": cline, "codex": codex, "copilot": copilot, "gemini": gemini, "kimi": kimi,
    "opencode": opencode, "pi": pi, "qwen": qwen, "vscode": vscode, "zot": zot,
}  # fmt: skip
