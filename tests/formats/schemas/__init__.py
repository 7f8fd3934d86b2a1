"""JSON Schemas of documents for other systems, written from their specifications."""

import json
from functools import cache
from pathlib import Path

from jsonschema import Draft202012Validator


@cache
def schema(name):
    """Return the validator of a document."""
    return Draft202012Validator(json.loads(Path(__file__).with_name(f"{name}.json").read_text()))


@cache
def fields():
    """Return the fields of each event of `foundation.protocols.ai.claude`: their types, or the values they may have."""
    return json.loads(Path(__file__).with_name("matrix-events.json").read_text())
