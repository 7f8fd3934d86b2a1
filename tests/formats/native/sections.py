"""The sections of the tables: what kind of a field it is, judged by how the draft's own converter treats it."""

from typing import Final

RECORDS: Final = "types of records"
BLOCKS: Final = "types of content"
TOOLS: Final = "tools and questions"
SOURCES: Final = "where sessions come from"
SAME: Final = "has the same name in the draft"
RENAMED: Final = "has another name in the draft"
SPLIT: Final = "is taken out of something else"
DROPPED: Final = "was dropped by the first converter of the draft"
ADDED: Final = "is not in the native session"
KINDS: Final = "kinds of events"
LINKS: Final = "what belongs together, and answers"
