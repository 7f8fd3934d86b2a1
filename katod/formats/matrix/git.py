"""What commands did to a Git repository, judged by their output. Pure."""

import re
from collections.abc import Iterator
from typing import Final

from katod.agents.fields import dict_of, text_of
from katod.formats.matrix.lines import Draft
from katod.formats.matrix.values import Content
from katod.formats.transcript.results import is_commit, output_of

COMMIT: Final = "commit"
_DIFF: Final = "diff:"
_COMMITTED: Final = re.compile(
    r"^\[(?P<branch>[^\]\n]{1,200}?)(?: \(root-commit\))? (?P<hash>[0-9a-f]{7,40})\] (?P<message>.*)$", re.MULTILINE
)
_CHANGED: Final = re.compile(
    r"^ \d{1,9} files? changed(?:, (?P<insertions>\d{1,9}) insertions?\(\+\))?"
    r"(?:, (?P<deletions>\d{1,9}) deletions?\(-\))?$",
    re.MULTILINE,
)
_DETACHED: Final = "detached HEAD"
# A command of which the whole output is a diff: nothing is piped, redirected or run after it.
_VIEWS: Final = re.compile(r"(?:cd [^;&|<>\n]+ && )?git(?: --no-pager)? (diff|show)((?: +[^\s;&|<>$`()]+)*)")
_NO_DIFF: Final = re.compile(
    r" --(?:stat|shortstat|numstat|dirstat|summary|name-only|name-status|word-diff|color-words|check|quiet|no-patch"
    r"|compact-summary)| -s(?: |$)"
)
_FILE: Final = re.compile(r'diff --git (?:a/.+ b/(?P<name>.+)|"a/.+" "b/(?P<quoted>.+)")')
_HUNK: Final = re.compile(r"@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@")
_MOST_FILES: Final = 200
_ACTIONS: Final = {
    "create": "created", "created": "created", "switch": "switched", "switched": "switched", "checkout": "switched",
    "delete": "deleted", "deleted": "deleted", "merge": "merged", "merged": "merged",
}  # fmt: skip


def shown_by(command: str) -> str:
    """Return what the output of a command may show: a commit, a diff of a known or unknown type, or nothing."""
    if is_commit(command):
        return COMMIT
    viewed = _VIEWS.fullmatch(command.strip())
    if viewed is None or _NO_DIFF.search(viewed[2]):
        return ""
    return _DIFF + _type_of(viewed[1], viewed[2].split())


def _type_of(verb: str, words: list[str]) -> str:
    """Return the type of a diff as far as the words of its command tell: one name may be a path or a revision."""
    before = words[: words.index("--")] if "--" in words else words
    named = [word for word in before if not word.startswith("-")]
    if verb == "show":
        return "" if ":" in "".join(named) else "commit"
    if {"--staged", "--cached"} & {*before}:
        return "staged"
    if any(".." in word for word in named):
        return "branch_compare"
    return "" if named else "unstaged"


def seen(shown: str, text: str, ids: Content) -> list[Draft]:
    """Return what a command that succeeded did or showed, given its output."""
    output = output_of(text)
    if shown == COMMIT:
        return _commits(output, ids)
    found = _diff(output) if shown.startswith(_DIFF) else {}
    kind = shown.removeprefix(_DIFF)
    about = ids | ({"diff_type": kind} if kind else {}) | found
    return [Draft("git.diff.viewed", about, "git.diff", derived=True)] if found else []


def _commits(output: str, ids: Content) -> list[Draft]:
    found = list(_COMMITTED.finditer(output))
    ends = [*(match.start() for match in found[1:]), len(output)]
    return [
        Draft("git.commit", ids | _commit(match, output[match.end() : end]), f"git.commit.{n}", at=("message",))
        for n, (match, end) in enumerate(zip(found, ends, strict=False))
    ]


def _commit(match: re.Match[str], below: str) -> Content:
    row: Content = {"commit_hash": match["hash"], "message": match["message"].strip()}
    if match["branch"] != _DETACHED:
        row["branch"] = match["branch"]
    if changed := _CHANGED.search(below):
        row |= {name: int(count) for name, count in changed.groupdict(default="0").items()}
    return row


def recorded(structured: Content, ids: Content) -> list[Draft]:
    """Return what the agent itself says that a command did."""
    git = dict_of(structured.get("git"))
    commit, branch = dict_of(git.get("commit")), dict_of(git.get("branch"))
    drafts = []
    if sha := text_of(commit.get("sha")):
        about = {"commit_hash": sha, "branch": text_of(commit.get("branch")), "katod_kind": text_of(commit.get("kind"))}
        drafts.append(Draft("git.commit", ids | {name: text for name, text in about.items() if text}, "git.commit"))
    action, name = _ACTIONS.get(text_of(branch.get("action")).lower()), text_of(branch.get("ref"))
    if action and name:
        drafts.append(Draft("git.branch", ids | {"action": action, "branch_name": name}, "git.branch"))
    return drafts


def _diff(output: str) -> Content:
    """Return files and lines of a diff, empty if the output is none or its end is missing."""
    files: list[str] = []
    row = {"+": 0, "-": 0}
    lines = iter(output.split("\n"))
    for line in lines:
        if named := _FILE.fullmatch(line):
            files.append(named["name"] or named["quoted"])
        elif files and (hunk := _HUNK.match(line)) and not _count(lines, hunk, row):
            return {}
    if not files or len(files) > _MOST_FILES:
        return {}
    return {"files_in_diff": files, "lines_added": row["+"], "lines_removed": row["-"]}


def _count(lines: Iterator[str], hunk: re.Match[str], row: dict[str, int]) -> bool:
    """Count the lines of a hunk; return whether all of them are there."""
    old, new = (1 if length is None else int(length) for length in hunk.groups())
    while old > 0 or new > 0:
        line = next(lines, None)
        if line is None or line[:1] not in ("+", "-", " ", "\\", ""):
            return False
        sign = line[:1] or " "
        row[sign] = row.get(sign, 0) + 1
        old -= sign in ("-", " ")
        new -= sign in ("+", " ")
    return True
