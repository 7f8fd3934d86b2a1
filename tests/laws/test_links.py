"""Every link that katod writes to a file leads to one that exists, whatever it is called."""

import base64
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt

from tests.support.records import Claude

# Names that a person may type, and that mean something else in Markdown, in HTML or in an address.
NAMES = (
    "plain", "two words", "c# notes", "what now?", "a>b", "5<6", "re: login", "a &copy; b", "&amp;", "50%20off", "100%", "a`b`c", "(x) [y]",
    "it's \u201cso\u201d", "größe", "a=b;c", "javascript:x", "http:", "#", "?", "<b>", "x@y", "*a* _b_", "!a", "\N{NO-BREAK SPACE}z", "e\u0301",
)  # fmt: skip
PIXEL = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": base64.b64encode(b"png").decode()},
}


class Addresses(HTMLParser):
    """The addresses in a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name in ("href", "src")]


def links(path: Path) -> list[str]:
    """Return the addresses in a transcript or an index, without those within it or of data."""
    text = path.read_text()
    html = MarkdownIt("commonmark").render(text) if path.suffix == ".md" else text
    return [one for one in Addresses(html).found if not one.startswith(("#", "data:"))]


def file_of(page: Path, address: str) -> Path:
    """Return the file that an address leads to from a page."""
    parts = urlsplit(address)
    assert not any((parts.scheme, parts.netloc, parts.query, parts.fragment)), address
    return page.parent / unquote(parts.path)


def talk(world, number, name):
    """Have a session with a picture and a sub-agent recorded to a file of this name, and kept in another."""
    make = source = world.session(number)
    source.append(make.user(f'::start "{name}"\ngo'), make.calls(f"t{number}", "Task", description="look"))
    child, agent = world.claude("x"), Claude()
    child.path = source.path.parent / source.path.stem / "subagents" / f"agent-a{number}.jsonl"
    side = {"isSidechain": True, "agentId": f"a{number}", "sessionId": source.path.stem}
    child.append(agent.user("look", **side), agent.says("found", **side))
    done = {"agentId": f"a{number}", "status": "completed"}
    source.append(
        make.user([{"type": "text", "text": "see"}, PIXEL]), make.result(f"t{number}", "found", toolUseResult=done),
        make.says("ok"), make.user(f'::keep 2 "{name} kept"'),
    )  # fmt: skip
    return source


def test_every_link_leads_to_a_file(world):
    """Pictures and sub-agents of recordings, pictures of exports and copies, and the pages of an index."""
    world.config.write_text('[recording]\nsubagents = true\n[content]\nattachments = "save"\n')
    for number, name in enumerate(NAMES, 1):
        source = talk(world, number, name)
        world.cli("export", str(source.path), "-o", str(world.home / f"{name}.md"))
    world.once()
    for form in ("markdown", "html"):
        world.cli("export", "--all", "-f", form, "-o", str(world.home / f"all # {form}"))
    pages = [path for path in world.home.rglob("*") if path.suffix in (".md", ".html")]
    found = {page: [file_of(page, one) for one in links(page)] for page in pages}
    assert [(page, file) for page, files in found.items() for file in files if not file.is_file()] == []
    count = Counter(dict.fromkeys((world.out, world.home), 0))
    for page, files in found.items():
        count[next(path for path in count if path in page.parents)] += len(files)
    assert count[world.out] == 3 * len(NAMES)  # two in the recording, one in what was kept
    assert count[world.home] == (1 + 1 + 2) * len(NAMES)  # in the export, in that of all, and two pages in the index
