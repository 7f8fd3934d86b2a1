"""What people's editors, and people, make of a transcript: each is a name, and the text that a text becomes.

What a person adds has the words `zebra verdict`.
"""

import re

ADDED = "zebra verdict"
_FRONT = re.compile(r"(---\n.*?\n)(---)\n", re.DOTALL)


def _in_front(text, more="", end="---", session=r"\1"):
    """Return a transcript with more properties, or with another end of its front matter."""
    front = _FRONT.match(text)
    rows = re.sub(r'(?<=^session: )("[^"\n]*")$', session, front[1], flags=re.MULTILINE)
    return f"{rows}{more}{end}\n{text[front.end() :]}"


def _above(text, mark, added):
    """Return a transcript with something above the first line that begins with a mark."""
    return re.sub(rf"^{re.escape(mark)}", lambda found: f"{added}{found[0]}", text, count=1, flags=re.MULTILINE)


def _about(text, added):
    """Return a transcript with something above the line about it."""
    title = re.search(r"^# [^\n]*\n\n", text, re.MULTILINE)
    return text[: title.end()] + added + text[title.end() :]


# The head is written in another way.
HEADS = {
    "long labels": lambda text: _in_front(text.replace("tags: [", f"tags: [{'label, ' * 1000}", 1)),
    "labels as a list": lambda text: re.sub(
        r"^tags: \[(.*?), (.*?)\]$", r"tags:\n  - \1\n- \2\n", text, count=1, flags=re.MULTILINE
    ),
    "an empty line in it": lambda text: _in_front(text, "\n"),
    "a byte order mark": lambda text: f"\ufeff{text}",
    "a blank line above": lambda text: f"\n \n{text}",
    "both": lambda text: f"\ufeff\n{text}",
    "blanks at its end": lambda text: _in_front(text, end="---  "),
    "dots at its end": lambda text: _in_front(text, end="..."),
    "a comment": lambda text: _in_front(text, session=r"\1  # mine").replace("agent: ", "agent:  ", 1),
}
# Something is added to it.
ADDITIONS = {
    "a long property": lambda text: _in_front(text, f"summary: {'words of it ' * 600}{ADDED}\n"),
    "a property above the others": lambda text: text.replace("---\n", f"---\nstatus: {ADDED}\n", 1),
    "a list of properties": lambda text: _in_front(text, f"aliases:\n- a plan\n- {ADDED}\n"),
    "a property with a text": lambda text: _in_front(text, f"about it: >-\n  a plan\n\n  {ADDED}\n"),
    "lines at the top": lambda text: f"{ADDED}\n\n{text}",
    "a title at the top": lambda text: f"# {ADDED}\n\n{text}",
    "a rule at the top": lambda text: f"mine\n\n---\n\n{ADDED}\n\n{text}",
    "a property list at the top": lambda text: f"---\nmine: {ADDED}\n---\n\n{text}",
    "a section above the title": lambda text: _above(text, "# ", f"# {ADDED}\n\nKeep it.\n\n"),
    "words above the title": lambda text: _above(text, "# ", f"{ADDED}\n\n"),
    "words below the title": lambda text: _about(text, f"{ADDED}\n\n"),
    "a section below the title": lambda text: _about(text, f"# {ADDED}\n\nKeep it.\n\n"),
    "a heading below the title": lambda text: _about(text, f"# {ADDED}\n\n"),
    "words like the agent's below the title": lambda text: _about(text, f"Claude Codex {ADDED}\n\n"),
    "its product below the title": lambda text: _about(text, f"Claude Code {ADDED}\n\n"),
    "words above the first message": lambda text: _above(text, "## ", f"{ADDED}\n\n"),
    "a section above the first message": lambda text: _above(text, "## ", f"## {ADDED}\n\nKeep it.\n\n"),
    "a section in an answer": lambda text: _above(text, "### ", f"## {ADDED}\n\nKeep it.\n\n"),
    "a smaller one": lambda text: _above(text, "### ", f"### {ADDED}\n\nKeep it.\n\n"),
    "a larger one": lambda text: _above(text, "### ", f"# {ADDED}\n\nKeep it.\n\n"),
    "a section at the end": lambda text: f"{text}\n## {ADDED}\n\nKeep it.\n",
}
