"""Which agents are here, whether katod understands what they store, and what they are going to delete."""

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

from katod.agents import AGENTS
from katod.agents.others import others_here
from katod.agents.sniffing import sniff
from katod.agents.spec import AgentSpec, Retention
from katod.discover.found import STRANGE, FoundSession, find_sessions
from katod.discover.roots import Root, find_roots
from katod.doctor.case import Case
from katod.doctor.findings import Finding, count, ok, problem, warning
from katod.errors import INTERNAL, AgentFailed, SourceError
from katod.log import EventLog
from katod.record.export import Stretch, replay
from katod.record.formatdrift import version_in
from katod.rescue.due import Deletable, days_left
from katod.rescue.names import owner_of
from katod.rescue.notes import problems
from katod.rescue.plan import files_beside
from katod.rescue.recorded import RecordedSessions
from katod.service.lock import holder
from katod.service.pause import paused_since
from katod.shell import pasted
from katod.store.collections import Tombstones

_LOOK_AHEAD: Final = 100  # events of a session that may name the agent's version
_MOST_PROBLEMS: Final = 5  # that are listed for one root
_SOON: Final = 7  # days
_LIKE_SESSIONS: Final = (".jsonl", ".json", ".jsonl.zst")
_MOST_FOLDERS, _MOST_FILES = 200, 20  # that are looked at for sessions in other places
_UPGRADE: Final = "upgrade katod; if it is the latest version, report this with the version of the agent"
_KEEP: Final = (
    "save all before that: `recording.rescue = true`; keep one: `katod capture SESSION`; for longer, change `{}` in {}"
)
# What to do about a part that cannot be read, by a word of the reason; the last one is for all others.
_ADVICE: Final = (
    (STRANGE, "strange", _UPGRADE),
    ("not understood", "strange", _UPGRADE),
    (INTERNAL, "failed", "upgrade katod; if it is the latest version, report this; the session itself is not needed"),
    ("symbolic link", "unreadable", "or set `agents.{0}.enabled = false`"),
    ("Permission denied", "unreadable", "make it readable for you (`ls -ld {1}`), or set `agents.{0}.enabled = false`"),
    ("", "unreadable", "katod retries by itself; if this persists, set `agents.{0}.enabled = false`"),
)


def examine(case: Case) -> Iterator[Finding]:
    """Yield what is found of each agent, and then what each deletes."""
    roots = find_roots(case.settings, AGENTS)
    here = sorted((root for root in roots if _is_used(root, roots)), key=lambda root: root.spec.product)
    kept, forgotten, deletions, keeping = _recorded(case), _forgotten(case), [], []
    for root in here:
        problems: dict[str, str] = {}
        sessions = list(find_sessions([root], problems).values())
        yield _found(root, sessions, len(problems))
        yield from _problems(root, problems)
        yield from () if sessions else _elsewhere(case, root)
        retention = _retention(root)
        if isinstance(retention, Finding):
            yield retention
        elif not retention.file:
            keeping.append(root.spec.product)
        elif sessions:
            unkept = [session for session in sessions if not _is_kept(root, session, kept, forgotten)]
            deletions.append(_deletion(case, root, retention, unkept))
    yield from _missing(case, roots, here)
    yield from _others()
    yield from deletions
    if keeping:
        names = sorted(set(keeping))
        yield ok(
            "retention.none", f"as far as katod knows, no sessions are deleted by {', '.join(names)}", agents=names
        )


def _is_used(root: Root, roots: list[Root]) -> bool:
    """Return whether a root exists, and not only as the folder in which another agent has its own."""
    inner = [other.path.relative_to(root.path).parts for other in roots if other.path.is_relative_to(root.path)]
    others = {parts[0] for parts in inner if parts}
    try:
        names = set(os.listdir(root.path))
    except PermissionError:
        # It is said that it cannot be read; of a place in the folder of another agent, this is said of that one.
        return os.path.isdir(root.path) or not any(
            root.path.is_relative_to(other.path) for other in roots if other != root
        )
    except OSError:
        return os.path.isdir(root.path)
    return not (names and names <= others)


def _retention(root: Root) -> Retention | Finding:
    try:
        return root.spec.retention(root.path)
    except AgentFailed as error:
        what = f"{root.spec.product}: cannot determine what it deletes: {error.what}"
        return problem("retention.failed", what, _UPGRADE, agent=root.agent)


def _recorded(case: Case) -> RecordedSessions:
    return RecordedSessions(() if case.ledger is None else case.ledger.sessions(), case.outputs())


def _is_kept(root: Root, session: FoundSession, recorded: RecordedSessions, forgotten: Tombstones) -> bool:
    """Return whether nothing of a session is lost that anybody wants to keep: as `katod rescue` sees it."""
    if forgotten.covers(session.key):
        return True
    if session.key not in recorded:
        return False
    beside = files_beside(root.spec, (path for path, _, _ in session.files))
    keys = (owner_of(root.spec, path) for path, _ in beside)
    return recorded.has_all(key for key in keys if key is None or not forgotten.covers(key))


def _forgotten(case: Case) -> Tombstones:
    """Return what says which sessions were forgotten: nobody wants to keep these."""
    return case.ledger.tombstones if case.ledger is not None and case.ledger.has_tombstones() else Tombstones(())


def _missing(case: Case, roots: list[Root], here: list[Root]) -> Iterator[Finding]:
    """Yield the agents that are switched off, roots of the configuration that do not exist, and that there are none."""
    for name, choice in case.settings.agents.items():
        spec = AGENTS[name]
        if not choice.enabled and any(os.path.isdir(path) for path in spec.roots()):
            yield ok(
                "agents.off",
                f"{spec.product} is disabled in the configuration (`agents.{name}.enabled`)",
                agent=name,
            )
    for root in roots:
        if root not in here and case.settings.agents[root.agent].roots:
            yield warning(
                "agents.root",
                f"{root.spec.product}: {root.path} does not exist",
                f"correct `agents.{root.agent}.roots` in the configuration",
                agent=root.agent, path=str(root.path),
            )  # fmt: skip
    if not here:
        yield warning(
            "agents.none",
            "no agent was found",
            "start one; if its directory is not the default one, set `agents.<name>.roots`",
        )


def _found(root: Root, sessions: list[FoundSession], problems: int) -> Finding:
    try:
        _ = root.spec.adapter
    except AgentFailed as error:
        return problem("agents.broken", error.what, "reinstall katod, or report this", agent=root.agent)
    main = [session for session in sessions if not session.key.subagent]
    version = _version(max(main, key=lambda session: session.changed_ns)) if main else ""
    name = f"{root.spec.product}{f' {version}' if version else ''}"
    readable = "that can be read " if problems else ""
    number = count(len(main), "session") if main or problems else "no sessions yet"
    return ok(
        "agents.found", f"{name}: {number} {readable}in {root.path / root.database}",
        agent=root.agent, path=str(root.path / root.database), version=version or None, sessions=len(main),
    )  # fmt: skip


def _others() -> Iterator[Finding]:
    if others := others_here(Path.home()):
        yield ok("agents.others", f"also here, not supported: {', '.join(others)}", agents=others)


def _elsewhere(case: Case, root: Root) -> Iterator[Finding]:
    """Yield a session below a root of the configuration, in a place where katod does not look."""
    if not case.settings.agents[root.agent].roots:
        return
    walks = islice(os.walk(root.path), _MOST_FOLDERS)
    names = (Path(folder, name) for folder, _, files in walks for name in files if name.endswith(_LIKE_SESSIONS))
    for path in islice(names, _MOST_FILES):
        spec = _form_of(path)
        if spec is not None:
            folders = " or ".join(f"`{folder}/`" if folder else "the folder itself" for folder in spec.folders)
            what = f"{root.spec.product}: {path} is a session of {spec.product}, in a place where katod does not look"
            how = f"set `agents.{spec.name}.roots` to the folder with {folders} in it"
            yield warning("agents.place", what, how, agent=root.agent, path=str(path))
            return


def _form_of(path: Path) -> AgentSpec | None:
    try:
        return sniff(path)
    except SourceError:
        return None


def _version(found: FoundSession) -> str:
    """Return the version of the agent that began a session, empty if its first events do not name it."""
    stretches = [Stretch(path, identity) for path, identity, _ in found.files]
    version = ""
    try:
        for number, (_, metadata) in enumerate(replay(found.key, stretches, EventLog(), skip_missing=True)):
            version = version_in(metadata)
            if version or number >= _LOOK_AHEAD:
                break
    except Exception:  # noqa: BLE001 - whatever is wrong with this session, its agent was found
        return ""
    return version


def _problems(root: Root, problems: dict[str, str]) -> Iterator[Finding]:
    for path, reason in list(problems.items())[:_MOST_PROBLEMS]:
        kind, advice = next((kind, advice) for word, kind, advice in _ADVICE if word in reason)
        yield problem(
            f"agents.{kind}", f"{root.spec.product}: {path}: {reason}", advice.format(root.agent, pasted(path)),
            agent=root.agent, path=path,
        )  # fmt: skip
    if (more := len(problems) - _MOST_PROBLEMS) > 0:
        what = f"{root.spec.product}: {count(more, 'other place')} below {root.path} cannot be read"
        yield problem("agents.unreadable", what, "see `katod status`", agent=root.agent, places=more)


# -- what agents delete ---------------------------------------------------------------------------


def _deletion(case: Case, root: Root, retention: Retention, unkept: list[FoundSession]) -> Finding:
    """Return an agent's retention, and how soon it deletes sessions of which not all is recorded."""
    product = root.spec.product
    data: dict[str, Any] = {"agent": root.agent, "path": str(root.path), "file": retention.file}
    if retention.problem:
        advice = f"correct {retention.file}: `{retention.key}` decides how long sessions are kept"
        return warning("retention.unknown", f"{product}: {retention.problem}", advice, **data)
    if retention.days is None and retention.most is None:
        what = f"{product} deletes nothing: `{retention.key}` in {retention.file}"
        return ok("retention.off", what, **data)
    left = sorted(_days_left([session for session in unkept if not session.key.subagent], retention, case.now_ns))
    due = sum(days <= 0 for days in left)
    soon = sum(0 < days <= _SOON for days in left)
    data |= {"days": retention.days, "most": retention.most, "unrecorded": len(left), "due": due, "soon": soon}
    what = f"{product} {_rule(retention)}; {_what_goes(left, due, soon)}"
    if not due and not soon:
        return ok("retention.later", what, **data)
    if case.settings.recording.rescue:
        return _saved(case, what, data)
    return warning("retention.soon", what, _KEEP.format(retention.key, retention.file), **data)


def _saved(case: Case, what: str, data: dict[str, Any]) -> Finding:
    """Return whether katod saves the sessions before that, as it is asked to."""
    failed = "katod is paused" if paused_since(case.state) else next(iter(problems(case.state).values()), "")
    if why := failed if holder(case.state) else "katod is not running":
        return warning("retention.unsaved", f"{what}; not saved now: {why}", "see `katod status`", **data)
    return ok("retention.saved", f"{what}; katod saves them two days before that (`katod rescue`)", **data)


def _days_left(sessions: Iterable[FoundSession], retention: Retention, now_ns: int) -> Iterator[float]:
    """Yield the days until each session is deleted: none or less are left if the agent does it when it next starts."""
    found = (
        Deletable(str(session.key), os.path.dirname(session.files[-1][0]), session.changed_ns, len(session.files))
        for session in sessions
    )
    yield from (days for _, days in days_left(found, retention, now_ns))


def _rule(retention: Retention) -> str:
    """Return the retention in words: `deletes sessions 30 days after their last change (its default)`."""
    rules = []
    if retention.days is not None:
        rules.append(f"{_span(retention.days)} after their last change")
    if retention.most is not None:
        rules.append(f"beyond the latest {retention.most} of a project")
    default = " (its default)" if retention.is_default else ""
    note = f"; {retention.note}" if retention.note else ""
    return f"deletes sessions {' or '.join(rules)}{default}{note}"


def _what_goes(left: list[float], due: int, soon: int) -> str:
    if not left:
        return "all of each is recorded"
    number = f"{count(len(left), 'session')} not recorded as a whole"
    if not due and not soon:
        return f"{number}, to be deleted in {_span(left[0])} or later"
    parts = [f"{due} when it next starts"] if due else []
    parts += [f"{soon} within {_SOON} days"] if soon else []
    return f"{number}, to be deleted: {', '.join(parts)}"


def _span(days: float) -> str:
    return count(int(days), "day") if days >= 1 else count(max(1, int(days * 24)), "hour")
