"""What relative links lead to, in the words of a base: a web address, or a folder seen from a page. Pure.

A link never leaves its base: whatever it is spelled like, its target is below it, or it stays text. Links to files
beside a transcript lead to these files, whatever they are called.
"""

import re
from collections.abc import Iterable
from posixpath import relpath
from typing import Final
from urllib.parse import quote, unquote, urlsplit

PROJECT: Final = "{project}"  # in a base: the name of the project
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_WEB: Final = re.compile(r"https?://", re.IGNORECASE)
_HOST: Final = re.compile(r"[A-Za-z0-9.-]+(?::[0-9]{1,5})?|\[[0-9A-Fa-f:.]+\](?::[0-9]{1,5})?")
_ENCODED: Final = re.compile(r"[!#$%&()*+,./0-9:;=?@A-Z\[\]_a-z{}~-]+")
_RELATIVE: Final = re.compile(r"[^/~?][^?]*")
# Behind the name of a file: a line, and perhaps a column.
_LINE: Final = re.compile(r"(?P<name>.*?[^:]):(?P<line>[0-9]{1,9})(?::[0-9]{1,9})?")
# What ends a destination in `<` and `>`, what Markdown replaces there, and what is no path in an address.
_LEADS_ELSEWHERE: Final = re.compile(r"[<>\\&`#?%:]|^ | $")
_LONGEST: Final = 2000  # characters of a target


def problem_of(base: str) -> str:
    """Return why a base cannot be used, empty if it can: it is an http(s) address without secrets, or a folder."""
    if _WEB.match(base):
        return _problem_of_address(base)
    if _SCHEME.match(base):
        return f"has another scheme than http: or https:; for a directory of this name, write {f'./{base}'!r}"
    return "" if base and base.isprintable() else "is not a directory"


def is_address(base: str) -> bool:
    """Return whether a base is a web address."""
    return _WEB.match(base) is not None


def seen_from(folder: str, page: str) -> str:
    """Return the way from the folder of a page to another one as a base; both are absolute paths."""
    return address_of(relpath(folder, page))


def base_of(base: str, project: str) -> str:
    """Return a base with the name of a project in its place; empty if it needs one, and there is none to put there."""
    if PROJECT not in base and quote(PROJECT) not in base:
        return base
    if not _is_name(project):
        return ""
    return base.replace(quote(PROJECT), PROJECT).replace(PROJECT, quote(project, safe="", errors="replace"))


def based(target: str, base: str) -> str:
    """Return the address of a relative target below a base, empty if there is none: it is not relative, or leaves it.

    `src/cart.ts:12` is line 12 of that file.
    """
    path, _, place = target.partition("#")
    if not base or len(target) > _LONGEST or not _RELATIVE.fullmatch(path):
        return ""
    steps = _walked([unquote(step, errors="replace") for step in path.split("/")])
    if steps is None:
        return ""
    if not place and steps and (line := _LINE.fullmatch(steps[-1])) and _is_name(line["name"]):
        steps[-1], place = line["name"], f"L{line['line']}"
    return f"{base.rstrip('/')}/{_joined(steps)}{_fragment(place)}"


def address_of(path: str) -> str:
    """Return a relative path as an address: no part of it becomes a scheme, a host, a query or a fragment."""
    return _joined(path.split("/"))


def destination(path: str) -> str:
    """Return a relative path as the destination of a link in Markdown, as it is unless it would lead elsewhere."""
    return f"<{address_of(path) if _LEADS_ELSEWHERE.search(path) or not path.isprintable() else path}>"


def _problem_of_address(base: str) -> str:
    try:
        parts = urlsplit(base)
    except ValueError:
        return "is not a web address"
    problems = {
        "must not contain a user name or password: everyone who has the page could read them": "@" in parts.netloc,
        "is not a web address: it has no valid host": not _HOST.fullmatch(parts.netloc),
        "is not a web address: other characters have to be encoded": not _ENCODED.fullmatch(base),
        "must end with a path: links are appended to it": bool(set(base) & set("?#")),
        "must not contain `.` or `..`": any(unquote(step) in (".", "..") for step in parts.path.split("/")),
    }
    return next((problem for problem, applies in problems.items() if applies), "")


def _is_unsafe(step: str) -> bool:
    """Return whether a part of a path has characters with which browsers or servers would see other parts."""
    return "/" in step or "\\" in step or not step.isprintable()


def _is_name(step: str) -> bool:
    return step not in ("", ".", "..") and not _is_unsafe(step)


def _walked(steps: list[str]) -> list[str] | None:
    """Return the parts of a path without `.` and `..`; None if one is unsafe, or leads out of where they begin."""
    kept: list[str] = []
    for step in steps:
        if _is_unsafe(step) or (step == ".." and not kept):
            return None
        if step == "..":
            kept.pop()
        elif step not in ("", "."):
            kept.append(step)
    return kept


def _joined(steps: Iterable[str]) -> str:
    return "/".join(quote(step, safe="", errors="surrogateescape") for step in steps)


def _fragment(place: str) -> str:
    return f"#{quote(unquote(place, errors='replace'), safe='-._~!$&()*+,;=:@/')}" if place else ""
