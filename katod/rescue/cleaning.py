"""Removes secrets from an agent's own records, so that the agent can still read them. Pure.

Only text is changed: what names a record, signs it or holds an image stays as it is. What a signature no longer fits
goes with it: a thinking block as a whole, of anything else the signature. What is long is cleaned block by block, in
steps that are short: a secret that spans two blocks may stay.

Images and signatures in base64 are out of the way meanwhile: to search them costs ten times as much as to search text.
"""

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Container, Generator, Iterator
from contextlib import suppress
from hashlib import blake2b
from typing import Any, Final

import orjson

from katod.formats.redact.redactor import finished, may_contain_secret, redact, redact_json_in_steps
from katod.tail.decode import loads

LONG: Final = 256 * 1024  # bytes of a line or a text that is cleaned in steps
_DEEPEST: Final = 200  # levels of a record that are written at a time, of at most 254
_BLOCK: Final = 64 * 1024  # characters that are cleaned at a time
_SIGNATURES: Final = ("signature", "thoughtSignature")
# What holds records together, in the formats of the agents that delete sessions.
_KEPT: Final = frozenset({
    *_SIGNATURES, "uuid", "parentUuid", "logicalParentUuid", "leafUuid", "messageId", "sessionId", "session_id",
    "id", "tool_use_id", "toolUseID", "parentToolUseID", "sourceToolAssistantUUID", "requestId", "promptId", "agentId",
    "callId", "timestamp", "version", "cwd", "type", "role", "model", "media_type", "mimeType", "startTime",
    "lastUpdated", "projectHash",
})  # fmt: skip
# What these hold is a record's, too. Below any other name, such as a tool's input, any name may stand for anything.
_BINDING: Final = frozenset(
    {"message", "messages", "content", "parts", "source", "snapshot", "toolCalls", "functionCall"}
)
_MEDIA: Final = ("image/", "audio/", "video/", "application/pdf")
_THINKING: Final = ("thinking", "redacted_thinking")
# What stands for a long text while the rest of its record is cleaned, for base64, and for what is nested deeply. It has
# a hash of the record, so that nothing in it can be the same.
_HOLE: Final = "a long text of {}, number {}"
_SEAL: Final = b"what is sealed of %b, number %d"
_SEALS: Final = re.compile(rb"what is sealed of ([0-9a-f]{16}), number (\d+)")
_NEST: Final = b"what is nested in %b, number %d"
_NESTS: Final = re.compile(rb'"what is nested in ([0-9a-f]{16}), number (\d+)"')
_BASE64: Final = rb"([A-Za-z0-9+/]{200,}+={0,2})(?=\")"
_KIND: Final = rb'"(?:media_type|mimeType|type)"\s*+:\s*+"(?:' + "|".join(_MEDIA).encode() + rb')[\w.+-]*+"'
_DATA: Final = rb'"(?:data|base64)"\s*+:\s*+"'
_SEALED: Final = re.compile(
    rb'"(?:signature|thoughtSignature)"\s*+:\s*+"' + _BASE64
    + rb"|" + _KIND + rb"\s*+,\s*+" + _DATA + _BASE64
    + rb"|" + _DATA + _BASE64 + rb'(?="\s*+,\s*+' + _KIND + rb")"
)  # fmt: skip
# What stands for what strict JSON has no place for: characters of private use, for which no line has any other use.
_FROM_HALF, _FROM_BYTE = 0x100000, 0x100400  # so far from the code of a half, and from that of a byte
_LOW: Final = r"[dD][c-fC-F][0-9a-fA-F]{2}"
_HIGH: Final = r"[dD][89abAB][0-9a-fA-F]{2}"
# Half a character by itself, where no backslash is escaped. Only for these is Python called: a line may be long.
_HALF: Final = re.compile(rf"\\u(?:({_HIGH})(?!\\u{_LOW})|(?<!\\u{_HIGH}\\u)({_LOW}))")
_ESCAPED, _FOR_ESCAPED = r"\\", "\U0010e000"
_BYTE: Final = re.compile("[\udc80-\udcff]")
_FOR_HALF: Final = re.compile("[\U0010d800-\U0010dfff]")
_FOR_BYTE: Final = re.compile("[\U0010e080-\U0010e0ff]")
_STANDING_IN: Final = re.compile("[\U0010d800-\U0010e0ff]")
_STANDING_IN_ESCAPED: Final = re.compile(r"\\u[dD][bB][fF][6-8]")
_LEADS: Final = (b"\xf4\x8d", b"\xf4\x8e")  # with which these begin in UTF-8
_WIDE: Final = {BOM_UTF16_LE: "utf-16-le", BOM_UTF16_BE: "utf-16-be"}  # as PowerShell writes its output
_ANY: Final = "surrogatepass"  # unpaired surrogates, too
Cleaning = Generator[None, None, bytes]
Changed = tuple[Any, Any, bool]  # a container as it was, as it is, and whether any name may stand for anything there


def cleaned_line(line: bytes) -> bytes:
    """Return a line of JSON without secrets; the same object if there are none. What is no JSON is cleaned as text."""
    opened, sealed = _seal(line)
    if not may_contain_secret(opened):
        return line
    cleaned = _cleaned_record(opened)
    return line if cleaned is opened else _unseal(cleaned, sealed, line)


def cleaned_text(data: bytes) -> bytes:
    """Return a text in any encoding without secrets; the same object if there are none, or if it is no text."""
    done: bytes = finished(_cleaned_text(data, _cleaned_at_once))
    return done


def cleaned_long_line(line: bytes) -> Cleaning:
    """Return (as a generator does) a long line without secrets, in steps; the same object if there are none."""
    opened, sealed = _seal(line)
    if not may_contain_secret(opened):
        return line
    yield
    cleaned = yield from _cleaned_in_steps(opened)
    return line if cleaned is opened else _unseal(cleaned, sealed, line)


def _cleaned_record(line: bytes) -> bytes:
    try:
        value, is_strict = _loaded(line)
    except ValueError:
        return _cleaned_bytes(line)
    cleaned = cleaned_value(value)
    return line if cleaned is value else _dumped(cleaned, line, is_strict=is_strict)


def _cleaned_in_steps(line: bytes) -> Cleaning:
    try:
        value, is_strict = _loaded(line)
    except ValueError:
        return (yield from _cleaned_blocks(line))
    mark = _mark_of(line).decode()
    texts = _taken_out([value], mark)
    yield
    redacted = yield from _redacted_value(value)
    done = []
    for text in texts:
        block = yield from _cleaned_blocks(text.encode("utf-8", _ANY))
        done.append(block.decode("utf-8", _ANY))
    if redacted is value and done == texts:
        return line
    root = [redacted]
    if done == texts:
        _drop_signed([value], root)
    _put_in([root], done, mark)
    if done != texts and b'ignature"' in line:
        yield
        _drop_signed([_loaded(line)[0]], root)  # not from `value`, of which the long texts were taken out
    yield
    return _dumped(root[0], line, is_strict=is_strict)


def cleaned_long_text(data: bytes) -> Cleaning:
    """Return (as a generator does) what `cleaned_text` returns of a long text, in steps."""
    return (yield from _cleaned_text(data, _cleaned_blocks))


def _cleaned_text(data: bytes, clean: Callable[[bytes], Cleaning]) -> Cleaning:
    if codec := _WIDE.get(data[:2]):
        end = len(data) - len(data) % 2
        narrow = data[:end].decode(codec, _ANY).encode("utf-8", _ANY)
        cleaned = yield from _cleaned_text(narrow, clean)
        return data if cleaned is narrow else cleaned.decode("utf-8", _ANY).encode(codec, _ANY) + data[end:]
    return (yield from clean(data)) if _is_text(data) and may_contain_secret(data) else data


def cleaned_value(value: Any) -> Any:
    """Return a JSON value without secrets in its texts; the same object if there are none."""
    return finished(_cleaned_value(value))


def _cleaned_value(value: Any) -> Generator[None, None, Any]:
    redacted = yield from _redacted_value(value)
    if redacted is value:
        return value
    root = [redacted]
    _drop_signed([value], root)
    return root[0]


def _redacted_value(value: Any) -> Generator[None, None, Any]:
    """Return a value with what signs it; the same object if nothing in it changed but what is no text."""
    redacted = yield from redact_json_in_steps(value)
    if redacted is value:
        return value
    root, given = [redacted], [value]
    for before, after, is_free in _changed(given, root):
        if not is_free:
            _restore(before, after)
    return redacted if _differing(given, root) else value


def _mark_of(line: bytes) -> bytes:
    return blake2b(line, digest_size=8).hexdigest().encode()


def _seal(line: bytes) -> tuple[bytes, list[bytes]]:
    """Return a line with something short in place of base64 that is no text; and what it stands for."""
    sealed: list[bytes] = []
    if not (b'ignature"' in line or b'"data"' in line or b'"base64"' in line):
        return line, sealed
    mark = _mark_of(line)

    def close(match: re.Match[bytes]) -> bytes:
        assert match.lastindex is not None  # one of its groups
        begin, data = match.start(match.lastindex) - match.start(), match[match.lastindex]
        sealed.append(data)
        return match[0][:begin] + _SEAL % (mark, len(sealed) - 1)

    return _SEALED.sub(close, line), sealed


def _unseal(cleaned: bytes, sealed: list[bytes], line: bytes) -> bytes:
    if not sealed:
        return cleaned
    mark = _mark_of(line)
    return _SEALS.sub(lambda found: sealed[int(found[2])] if found[1] == mark else found[0], cleaned)


def _loaded(line: bytes) -> tuple[Any, bool]:
    """Return what a line says, and whether it is strict JSON. Raises ValueError.

    In what it says otherwise, other characters stand for half characters, and for bytes that are no UTF-8.
    """
    try:
        return orjson.loads(line), True
    except orjson.JSONDecodeError:
        if (text := _with_stand_ins(line)) is None:
            return loads(line), True
        return loads(text), False


def _with_stand_ins(line: bytes) -> str | None:
    """Return a line with what stands for what strict JSON has no place for; None if some of that is in it already."""
    text = line.decode("utf-8", "surrogateescape")
    if (any(lead in line for lead in _LEADS) and _STANDING_IN.search(text)) or _STANDING_IN_ESCAPED.search(text):
        return None
    if not _is_utf_8(line):
        text = _BYTE.sub(lambda found: chr(ord(found[0]) + _FROM_BYTE), text)
    text = text.replace(_ESCAPED, _FOR_ESCAPED)
    text = _HALF.sub(lambda found: chr(int(found[1] or found[2], 16) + _FROM_HALF), text)
    return text.replace(_FOR_ESCAPED, _ESCAPED)


def _is_utf_8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _dumped(value: Any, line: bytes, *, is_strict: bool) -> bytes:
    data = _written(value, line) + (b"\n" if line.endswith(b"\n") else b"")
    if is_strict:
        return data
    text = _FOR_HALF.sub(lambda found: f"\\u{ord(found[0]) - _FROM_HALF:04x}", data.decode())
    return _FOR_BYTE.sub(lambda found: chr(ord(found[0]) - _FROM_BYTE), text).encode("utf-8", "surrogateescape")


def _written(value: Any, line: bytes) -> bytes:
    """Return what a line says now as JSON, however deeply it is nested: all that can be read is written."""
    with suppress(orjson.JSONEncodeError):  # as it is nested more deeply than orjson writes
        return orjson.dumps(value)
    mark, root, inner = _mark_of(line), [value], []
    pending: list[tuple[Any, int]] = [(root, 0)]
    for held, depth in pending:  # grows during the iteration
        for key, item in _items(held):
            if isinstance(item, dict | list):
                pending.append((item, depth + 1))
                if not (depth + 1) % _DEEPEST:
                    inner.append((held, key))
    done: list[bytes] = []  # not with `orjson.Fragment`, which writes beyond its memory where it is nested deeply
    for held, key in reversed(inner):
        data, held[key] = orjson.dumps(held[key]), (_NEST % (mark, len(done))).decode()
        done.append(_with_nested(data, done, mark))
    return _with_nested(orjson.dumps(root[0]), done, mark)


def _with_nested(data: bytes, done: list[bytes], mark: bytes) -> bytes:
    return _NESTS.sub(lambda found: done[int(found[2])] if found[1] == mark else found[0], data)


def _is_text(data: bytes) -> bool:
    """Return whether bytes may be a text in UTF-8, Latin-1 or the like: all but UTF-8 has no NUL bytes, images have."""
    return b"\0" not in data or _is_utf_8(data)


def _cleaned_bytes(data: bytes) -> bytes:
    """Return bytes without secrets; some may be no UTF-8."""
    text = data.decode("utf-8", "surrogateescape")
    done = redact(text)
    return data if done is text else done.encode("utf-8", "surrogateescape")


def _cleaned_at_once(data: bytes) -> Cleaning:
    yield
    return _cleaned_bytes(data)


def _cleaned_blocks(data: bytes) -> Cleaning:
    """Clean a text block by block: each ends with an empty line if there is one, else with a line."""
    at, done = 0, []
    while at < len(data):
        end = len(data)
        if end > at + _BLOCK:
            breaks = (data.rfind(sign, at + _BLOCK // 2, at + _BLOCK) for sign in (b"\n\n", b"\n", b" "))
            end = next((found + 1 for found in breaks if found >= 0), at + _BLOCK)
        done.append(_cleaned_bytes(data[at:end]))
        at = end
        yield
    joined = b"".join(done)
    return data if joined == data else joined


def _taken_out(pending: list[Any], mark: str) -> list[str]:
    """Replace the long texts of a value in place by something short; return them. What is no text stays."""
    texts: list[str] = []
    for held in pending:  # grows during the iteration
        for key, item in _items(held):
            if isinstance(item, dict | list):
                pending.append(item)
            elif isinstance(item, str) and len(item) > _BLOCK and not _is_kept(held, key):
                held[key] = _HOLE.format(mark, len(texts))
                texts.append(item)
    return texts


def _put_in(pending: list[Any], texts: list[str], mark: str) -> None:
    names = {_HOLE.format(mark, number): text for number, text in enumerate(texts)}
    for held in pending:  # grows during the iteration
        for key, item in _items(held):
            if isinstance(item, dict | list):
                pending.append(item)
            elif isinstance(item, str) and item in names:
                held[key] = names[item]


def _items(held: Any) -> list[tuple[Any, Any]]:
    return list(held.items() if isinstance(held, dict) else enumerate(held) if isinstance(held, list) else ())


def _changed(before: Any, after: Any) -> Iterator[Changed]:
    """Yield each container that was copied, and the one that it was copied from, the outer ones first."""
    pending = [(before, after, False)]
    for old, new, is_free in pending:  # grows during the iteration
        yield old, new, is_free
        for key, item in _items(new):
            old_item = _at(old, key)
            if isinstance(item, dict | list) and item is not old_item and isinstance(old_item, dict | list):
                pending.append((old_item, item, is_free or (isinstance(key, str) and key not in _BINDING)))


def _at(held: Any, key: Any) -> Any:
    if isinstance(held, dict):
        return held.get(key)
    return held[key] if isinstance(key, int) and key < len(held) else None


def _is_kept(held: Any, key: Any) -> bool:
    """Return whether what has this name in an object of a record is no text."""
    if not isinstance(held, dict):
        return False
    media = held.get("media_type") or held.get("mimeType")
    return key in _KEPT or (key == "data" and isinstance(media, str) and media.startswith(_MEDIA))


def _restore(before: Any, after: Any) -> None:
    """Put back what is no text."""
    if isinstance(after, dict) and isinstance(before, dict):
        for key in before.keys() & after.keys():
            if isinstance(before[key], str) and _is_kept(before, key):
                after[key] = before[key]


def _drop_signed(before: Any, after: Any) -> None:
    """Take out the signatures of what changed, and signed thinking as a whole."""
    differing = _differing(before, after)
    for old, new in differing.values():
        if isinstance(new, list):
            new[:] = [item for at, item in enumerate(new) if not (id(item) in differing and _is_signed(old[at]))]
        else:
            for name in _SIGNATURES:
                new.pop(name, None)


def _is_signed(thinking: Any) -> bool:
    return isinstance(thinking, dict) and thinking.get("type") in _THINKING and "signature" in thinking


def _differing(before: Any, after: Any) -> dict[int, tuple[Any, Any]]:
    """Return the containers in which anything differs, as they were and are, by the id of the new one.

    The inner ones come first. Python itself does not compare what is nested deeply.
    """
    found: dict[int, tuple[Any, Any]] = {}
    for old, new, _ in reversed(list(_changed(before, after))):
        if _keys(old) != _keys(new) or any(_differs(_at(old, key), item, found) for key, item in _items(new)):
            found[id(new)] = old, new
    return found


def _keys(held: Any) -> Any:
    """Return the names in an object, the length of a list: a name may have a secret in it, too."""
    return held.keys() if isinstance(held, dict) else len(held)


def _differs(old: Any, new: Any, differing: Container[int]) -> bool:
    if isinstance(new, dict | list):
        return new is not old and (id(new) in differing or type(new) is not type(old))
    return bool(old != new)
