"""The description of CodingBridge as a judge of what a server sends: also of keys that it does not name."""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from jsonschema import Draft202012Validator, FormatChecker, ValidationError
from jsonschema.validators import extend

Json = dict[str, Any]
_SHOWN: Final = 300  # characters
_RFC_3339: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")


def _date_time(value: object) -> bool:
    if not isinstance(value, str):
        return True
    return bool(_RFC_3339.fullmatch(value)) and bool(datetime.fromisoformat(value.upper()))


def _formats() -> FormatChecker:
    checker = FormatChecker(formats=["uuid"])
    checker.checks("date-time", raises=ValueError)(_date_time)
    return checker


def _one_of(validator: Any, branches: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    """Check against the branch that the discriminator names, which is faster and explains more than trying all."""
    discriminator = schema.get("discriminator")
    if discriminator is None:
        yield from Draft202012Validator.VALIDATORS["oneOf"](validator, branches, instance, schema)
        return
    kind = instance.get(discriminator["propertyName"]) if isinstance(instance, dict) else None
    target = discriminator["mapping"].get(kind) if isinstance(kind, str) else None
    if target is None:
        yield ValidationError(f"{kind!r} is not one of the types that the schema names")
    else:
        yield from validator.descend(instance, {"$ref": target})


def _closed(node: Any) -> Any:
    """Copy a schema so that objects with named properties admit no others."""
    if isinstance(node, list):
        return [_closed(entry) for entry in node]
    if not isinstance(node, dict):
        return node
    copy = {key: _closed(value) for key, value in node.items() if key != "properties"}
    if isinstance(node.get("properties"), dict):
        copy["properties"] = {name: _closed(value) for name, value in node["properties"].items()}
        copy.setdefault("additionalProperties", False)
    return copy


class Schema:
    """The OpenAPI document, used as JSON Schema 2020-12 with closed objects."""

    def __init__(self, document: Path) -> None:
        """Read the document."""
        content = json.loads(document.read_text(encoding="utf-8"))
        self._components: Json = {"schemas": _closed(content["components"]["schemas"])}
        self._paths: Json = content["paths"]
        self._validator_class: Any = extend(Draft202012Validator, {"oneOf": _one_of})
        self._formats = _formats()
        self._validators: dict[str, Any] = {}

    def problems(self, component: str, value: object) -> list[str]:
        """Say what is wrong with a value that should be the named component."""
        return self._problems(component, {"$ref": f"#/components/schemas/{component}"}, value)

    def response_problems(self, path: str, status: int, media: str, value: object) -> list[str]:
        """Say what is wrong with the body of a GET; a status that the document does not name allows any body."""
        response = self._paths[path]["get"]["responses"].get(str(status))
        if response is None:
            return []
        content: Json = response.get("content", {})
        if media not in content:
            return [f"media type {media!r} is not one of {sorted(content)}"]
        return self._problems(f"{path} {status} {media}", _closed(content[media]["schema"]), value)

    def _problems(self, key: str, schema: Json, value: object) -> list[str]:
        validator = self._validators.get(key)
        if validator is None:
            root = schema | {"components": self._components}
            validator = self._validator_class(root, format_checker=self._formats)
            self._validators[key] = validator
        return [f"{error.json_path}: {error.message[:_SHOWN]}" for error in validator.iter_errors(value)]
