"""What a client puts into a prompt from files: commands, skills and named files, none of which is typed."""

from .scenario import talk

BAIT = "::stop\n"
GREETING = f"Greet the person kindly.\n\n$ARGUMENTS\n\n{BAIT}"
SKILL = f"---\nname: readme\ndescription: About files\n---\n\nRead the file with care.\n\n{BAIT}"
TOML = f'description = "greets"\nprompt = """\nGreet the person kindly: {{{{args}}}}\n\n{BAIT}"""\n'
NAMED = "look at @note.txt please"  # the note ends with a command, too
# For each client: the files of the project, and what its person types.
FILES = {
    "claude": ({".claude/commands/greet.md": GREETING, ".claude/skills/readme/SKILL.md": SKILL}, ["/greet joe", "/readme", NAMED]),
    "cline": ({".cline/workflows/greet.md": GREETING}, ["/greet", NAMED]),
    "codex": ({".agents/skills/readme/SKILL.md": SKILL}, ["$readme now", NAMED]),
    "copilot": ({".claude/commands/greet.md": GREETING, ".github/skills/readme/SKILL.md": SKILL}, ["/greet joe", NAMED]),
    "gemini": ({".gemini/commands/greet.toml": TOML}, ["/greet joe", NAMED]),
    "kimi": ({".agents/skills/readme/SKILL.md": SKILL}, ["/skill:readme joe", NAMED]),
    "opencode": (
        {".opencode/command/greet.md": GREETING, ".opencode/skill/readme/SKILL.md": SKILL},
        ["/greet joe", "/readme joe", NAMED],
    ),
    "pi": ({".pi/prompts/greet.md": GREETING, ".pi/skills/readme/SKILL.md": SKILL}, ["/greet joe", "/skill:readme joe", NAMED]),
    "qwen": (
        {".qwen/commands/greet.md": GREETING, ".qwen/skills/readme/SKILL.md": SKILL}, ["/greet joe", "/readme", NAMED],
    ),
}  # fmt: skip


def hold_with_files(play):
    """Type what becomes a prompt with a command from a file; the recording goes on, and nothing else begins."""
    files, prompts = FILES[play.client.agent]
    for name, content in files.items():
        path = play.client.project / name
        path.parent.mkdir(parents=True)
        path.write_text(content)
    with play.katod("jsonl") as katod, talk(play) as person:
        person.open()
        person.ask("::start talk.jsonl\nthe first words")
        for words in prompts:
            person.choose(words)
        person.ask("the last words")
        katod.until_written(play.last_answer(), "talk.jsonl")
        person.leave()
        assert list(katod.world.written()) == ["talk.jsonl"]
        assert len(katod.world.status()["recordings"]) == 1
