"""Copilot CLI: what fields of its records say that several records have."""

from typing import Any

from katod.agents.fields import repository_of, text_of, texts_in


def location_of(context: dict[str, Any]) -> dict[str, str]:
    """Return where a session is; a repository is written as its name at a host, whose kind says how to address it."""
    name, host = text_of(context.get("repository")), text_of(context.get("repositoryHost"))
    known = name and host and context.get("hostType") == "github"
    repository = repository_of(f"https://{host}/{name}") if known else ""
    place = {"cwd": context.get("cwd"), "branch": context.get("branch"), "commit": context.get("headCommit")}
    return texts_in(place | {"repository": repository})


def attachment_of(row: dict[str, Any]) -> dict[str, Any]:
    """Return the attachment of a prompt, by its name or its path."""
    name = text_of(row.get("displayName")) or text_of(row.get("path"))
    return {"type": text_of(row.get("type")) or "file"} | ({"name": name} if name else {})
