"""Describes records that were not understood, and the version of the agent that wrote them."""

import re
from collections.abc import Iterable
from typing import Final

from katod.metadata import Counts, SessionMetadata
from katod.store.rows import SampleRow

_VERSION: Final = re.compile(r"[0-9][0-9A-Za-z.+-]{0,40}")  # anything else may be text of the session
_STRANGE: Final = (
    "{0.raw} of {0.events} records of {0.agent} {0.version} are not understood: katod may be too old for it"
)


def version_in(metadata: SessionMetadata) -> str:
    """Return the version of the agent that began a session, empty for anything that may be text instead."""
    version = metadata.start.version
    return version if _VERSION.fullmatch(version) else ""


def not_understood(samples: Iterable[SampleRow]) -> list[tuple[SampleRow, str]]:
    """Return the agents of which the latest sample was not understood, and what to say about each."""
    latest = {sample.agent: sample for sample in sorted(samples, key=lambda sample: sample.time)}
    strange = [sample for sample in latest.values() if Counts(sample.events, sample.raw).is_strange]
    return [(sample, " ".join(_STRANGE.format(sample).split())) for sample in strange]  # a version may not be known
