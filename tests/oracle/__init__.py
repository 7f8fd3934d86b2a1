"""An independent oracle that reads the conversation of a session file without any of katod's code.

`claude`, `codex`, `gemini`, `opencode`, `cursor`, `zot`, `copilot` and `pi` read native files, `export` reads katod's
JSONL. All use only the standard library, and each returns the same four multisets: the person's messages, the
assistant's messages, tool calls and tool results. `test_oracle` compares them for real session files, `test_tools`
counts the calls whose tool has no family.
`qwen`, `kimi`, `cline`, `antigravity` and `vscode` are written ahead of the adapters that they are to judge; until there
is an adapter, a reader is not in `corpus.READERS`, and only `test_newer_readers` runs it.
`left_out.json` lists the record types of each file that are not part of the conversation
(`python -m tests.oracle.update` rewrites it).
"""
