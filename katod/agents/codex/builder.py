"""Codex: events are named by their rollout and their place in it."""

from typing import Any, Final

from katod.agents.base import Described, EventBuilder, Origin, State
from katod.agents.codex import flat
from katod.agents.fields import dict_of, digest, text_of
from katod.model import Record

_ENVELOPES: Final = ("event_msg", "response_item")
ITEM: Final = "event_msg/item_completed"


class CodexBuilder(EventBuilder):
    """Names events by the ordinal of their record, or by its offset if it has none."""

    native_type: str  # of the current record, as specific as possible

    def __init__(self, origin: Origin, state: State) -> None:
        key = origin.identity.key
        rollout = origin.identity.rollout or key.id
        super().__init__(
            origin.ref,
            prefix=f"{key.agent}:{key.id}:{rollout}@",
            dedup_prefix=f"{key.agent}:{rollout}@",
            now=state.get("now"),
        )
        self.paginated = False
        self.last: int = state.get("last", -1)  # the highest ordinal so far
        self._at, self._rises = "", True

    def in_thread(self, parent: str, *, paginated: bool, spawned: bool) -> None:
        """Take up what the head of a rollout says of its thread."""
        self.child_of(parent, spawned=spawned)
        self.paginated = paginated

    def take_up(self, fields: dict[str, Any], turn: str) -> str:
        """Set the record that the next events belong to; return its type with that of its payload, if it has one.

        A record that names a turn belongs to that turn, even if it comes late.
        """
        kind, payload = fields.get("type"), fields.get("payload")
        self.native_type = kind if isinstance(kind, str) else ""
        self.turn = turn
        if not payload or not isinstance(payload, dict):
            return ""
        if named := payload.get("turn_id"):
            self.turn = text_of(named) or turn
        if kind not in _ENVELOPES:
            if kind == flat.ITEM:
                self.native_type = text_of(payload.get("type"))
                return f"response_item/{self.native_type}"
            return self.native_type
        deep = self.native_type = f"{kind}/{text_of(payload.get('type'))}"
        if deep == ITEM:
            self.native_type = f"{ITEM}/{text_of(dict_of(payload.get('item')).get('type'))}"
        return deep

    def copied(self, *content: str) -> str:
        """Return the dedup key of a record whose place in its rollout is not the same in a copy of it."""
        return f"{self.ref.agent}:~{digest(*content)}"

    def _describe(self, record: Record, part: int | str, _kind: str, _payload: dict[str, Any], /) -> Described:
        fields = record.value or {}
        source: dict[str, Any] = {"providerEventType": self.native_type or record.problem or "unknown"}
        body = fields.get("payload")
        if isinstance(body, dict):
            native = dict_of(body.get("item")).get("id") if "item" in body else None
            native = native or body.get("id")
            if isinstance(native, str):
                source["providerEventId"] = source["messageId"] = native
        source["offset"] = record.offset
        at = self._place(record) if self.paginated or record.part else record.offset
        name = f"{at}:{part}"
        return name, name, source, text_of(fields.get("timestamp"))

    def _place(self, record: Record) -> str:
        """Return the identity of a record in its rollout: its ordinal, with its offset unless ordinals are rising."""
        place = f"{record.offset}+{record.part}" if record.part else f"{record.offset}"
        ordinal = (record.value or {}).get("ordinal") if self.paginated else None
        if not isinstance(ordinal, int):
            return place
        if place != self._at:  # one record may have many events
            self._at, self._rises = place, ordinal > self.last
            self.last = max(self.last, ordinal)
        return f"{ordinal}" if self._rises else f"{ordinal}+{place}"
