"""How agents record the answers of a model. Pure."""

from enum import Enum
from typing import Final, NamedTuple


class Parts(Enum):
    """How the events of one answer are known to belong together."""

    NAMED = "they name the same message, or are of one record"
    COUNTED = "they come before its usage"
    ITEMS = "they come before its usage, and before the results of its calls"


class Answers(NamedTuple):
    """How the parts of an answer are known, whether and when its usage is recorded, and what the counts contain."""

    parts: Parts = Parts.NAMED
    input_has_cached: bool = False
    output_has_reasoning: bool = True
    has_usage: bool = True
    usage_is_last: bool = True  # after all of the answer: no call of it is recorded later
    # What a line contains that has usage, or a setting on which that depends; nothing, if any line may have it.
    usage_signs: tuple[bytes, ...] = ()
    usage_from_start: bool = False  # each line counts as one up to that which starts the session: it has no sign
    usage_stands_alone: bool = False  # so that what was appended can be read without what is before it
    usage_is_apart: bool = False  # in a record of its own that names no message, beside that of its answer

    @property
    def have_names(self) -> bool:
        """Whether all parts of an answer and its usage name the same message, or are of one record."""
        return self.parts is Parts.NAMED and not self.usage_is_apart


ANSWERS: Final = Answers()  # those of most agents
