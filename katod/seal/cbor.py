"""CBOR as signatures need it: written deterministically, read strictly. Pure.

A signature may come from anyone. General decoders do things with a tagged value (compile it as a regular expression,
build a cycle of it), and take the same thing in many spellings; here there is one tag, one spelling, and no surprise.
"""

from typing import Any, Final, NamedTuple

from katod.errors import SealError

_SIGN1: Final = 18  # the tag of a COSE_Sign1
_DEEPEST: Final = 16
_SIMPLE: Final = {20: False, 21: True, 22: None}
_INDEFINITE: Final = 31


class Tagged(NamedTuple):
    """The content of a COSE_Sign1 tag."""

    value: Any


def encode(value: Any) -> bytes:
    """Return the deterministic encoding of a value."""
    import cbor2  # noqa: PLC0415 - an extra

    value = cbor2.CBORTag(_SIGN1, value.value) if isinstance(value, Tagged) else value
    data: bytes = cbor2.dumps(value, canonical=True)
    return data


def decode(data: bytes) -> Any:
    """Return the only value in these bytes. Raises SealError."""
    reader = _CborReader(data)
    value = reader.value()
    if reader.left:
        raise SealError(f"{reader.left} bytes too many at its end")
    return value


class _CborReader:
    """Reads values of integers, texts, bytes, arrays, maps, false, true and null."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        """How many bytes were not read yet."""
        return len(self._data) - self._at

    def value(self, depth: int = 0) -> Any:
        """Read one value."""
        major, argument = self._head()
        if depth > _DEEPEST:
            raise SealError("it is nested too deeply")
        match major:
            case 0:
                return argument
            case 1:
                return -1 - argument
            case 2:
                return self._bytes(argument)
            case 3:
                return self._text(argument)
            case 4:
                return [self.value(depth + 1) for _ in range(self._fitting(argument))]
            case 5:
                return self._map(self._fitting(argument), depth + 1)
        return self._special(major, argument, depth)

    def _head(self) -> tuple[int, int]:
        [first] = self._bytes(1)
        major, info = first >> 5, first & 31
        if info < 24:
            return major, info
        if info == _INDEFINITE:
            raise SealError("it has an item of indefinite length")
        if info > 27:
            raise SealError("it is not valid CBOR")
        argument = int.from_bytes(self._bytes(1 << (info - 24)))
        shortest = 24 if info == 24 else 1 << (4 << (info - 24))
        if argument < shortest:
            raise SealError("it is not in its shortest form")
        return major, argument

    def _bytes(self, size: int) -> bytes:
        begin, self._at = self._at, self._at + self._fitting(size)
        return self._data[begin : self._at]

    def _fitting(self, size: int) -> int:
        """Return a size, or a number of items of at least one byte each, if so much is left."""
        if size > self.left:
            raise SealError("it is cut off")
        return size

    def _text(self, size: int) -> str:
        try:
            return self._bytes(size).decode()
        except UnicodeDecodeError:
            raise SealError("it has text that is not UTF-8") from None

    def _map(self, size: int, depth: int) -> dict[int | str, Any]:
        found: dict[int | str, Any] = {}
        for _ in range(size):
            key = self.value(depth)
            if type(key) not in (int, str):
                raise SealError("it has a key that is neither a number nor text")
            if key in found:
                raise SealError(f"it has the key {key!r} twice")
            found[key] = self.value(depth)
        return found

    def _special(self, major: int, argument: int, depth: int) -> Any:
        if major == 6 and argument == _SIGN1:
            return Tagged(self.value(depth + 1))
        if major == 6 or argument not in _SIMPLE:
            raise SealError("it has a value of a kind that is not used in signatures")
        return _SIMPLE[argument]
