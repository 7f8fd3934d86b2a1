"""Lines of messages that would be shown like lines of katod's own."""

from katod.formats.text.mdtext import body, typed
from katod.formats.text.ownlines import MARKS, poses
from tests.looping import each


@each(
    "line",
    [
        "**You:** x", "__You:__ x", "**You (Store):** x", "**You&#58;** x", "**You\\:** x", "**&#89;ou:** x", "***You:*** x",
        "_**You:**_ x", "*1 tool&lt;div>You: x*", "&#32;**You:** x", "&nbsp;**You:** x", "[](#)**You:** x", "![](#)**You:** x", "[**You:**](#) x", "**[You:](#)** x",
        f"<b title='{'x' * 120}'>You:</b> x", "**\u200bYou:** x", "**\u00adYou:** x", "**&ZeroWidthSpace;You:** x", "*\\", "<b>You:</b> x", "<strong class='x'>You:</strong> x", "<p><b>You:</b>", "**You", "**You (Store",
        "*Recording stopped 23:40*", "_recording stopped_", "*Recording&#32;stopped*", "*Recording  stopped*", "*Recording",
        "*Rec*ording *stopped 23:40*", "<em>Recording stopped</em>", "<p><em>Recording stopped</em></p>", "  *Recording stopped*",
        "*3 tools · 2 files*", "*&#49;2 tools*", "*1,200 tools*", "*12", "*23:40*", "*2026-02-10 23:40*", "*2026-02-10", "***1 tool***",
    ],
)  # fmt: skip
def test_what_is_shown_like_a_line_of_katod_poses(line):
    """Marks, footers, times and answers are recognised in any spelling of emphasis, characters and blanks."""
    assert poses(line)
    assert f"\n{line}\n" not in f"\n{body(f'words{chr(10)}{line}')}\n"


@each(
    "line",
    [
        "You: x", "Recording stopped", "**Recording** of today", "**3 tools** were used", "**Yes:** x", "*The plan* is", "*You* are",
        "**Your** turn", "***", "* * *", "* item", "<some_name>", "[link](https://a.b) x", "&amp; x", "*3 toolboxes*", "23:40", "*23:40 is late*", "a *23:40*", "- **You:** x", "> **You:** x", "*Recordings*", "**You**", "*12*", "",
    ],
)  # fmt: skip
def test_other_words_in_emphasis_do_not_pose(line):
    """What nobody takes for a line of katod's stays as it was written."""
    assert not poses(line)
    assert body(line) == line


@each("mark", MARKS.values())
def test_a_mark_over_several_lines_poses(mark):
    """A line end within a paragraph is shown as a blank, so a mark may be cut at each of its words."""
    assert poses(f"*{mark.rpartition(' ')[0]}")


@each(
    "text",
    ["words<br><b>You:</b> x", "words<br/>**You:** x", "a</p><p><em>1 tool</em>", "<div>\n<em>23:40</em>\n</div>"],
)
def test_no_tag_begins_a_line_that_poses(text):
    """A tag that begins a line in the middle of another one is text if katod's words follow."""
    assert "&lt;" in body(text)


def test_code_that_reads_so_is_unchanged():
    """In code, nothing is shown with emphasis."""
    text = "`<br><b>You:</b> x`\n\n```\n*Recording stopped*\n<b>You:</b>\n```"
    assert (body(text), typed(text).count("\\")) == (text, 0)
