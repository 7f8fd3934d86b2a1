"""Messages of CodingBridge for the tests of them: from events, and what is wrong with one."""

import json

from tests.formats.schemas import schema
from tests.support.rendering import rendered


def lines(text):
    """Return the messages of a file; some text is separated by what Python takes for the end of a line."""
    return [json.loads(line) for line in text.split("\n")[:-1]]


def sent(*events, options=None):
    """Return the messages of a conversation as they are sent."""
    return lines(rendered("stream", events, options))


def said(*events, states=False, options=None):
    """Return the messages without their envelopes, and without states unless they are wanted."""
    messages = [row.get("message", row) for row in sent(*events, options=options)]
    return [message for message in messages if states or message["type"] != "state"]


def states(*events):
    """Return the states of a conversation, each with the tool that runs, if there is one."""
    found = [row for row in said(*events, states=True) if row["type"] == "state"]
    return [" ".join(filter(None, [row["state"], row.get("tool", "")])) for row in found]


def wrong_in(messages):
    """Return what is wrong with messages by the schema, an empty list if nothing is, and ids that are not unique."""
    errors = [error.message[:200] for row in messages for error in schema("bridge").iter_errors(row)]
    ids = [row["id"] for row in messages if row["type"] == "stream"]
    return errors[:3] + sorted({name for name in ids if ids.count(name) > 1} if len(set(ids)) < len(ids) else ())
