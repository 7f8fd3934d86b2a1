"""An independent oracle: what a session file says, read a second time without any of katod's code.

`claude`, `codex`, `gemini`, `opencode`, `cursor`, `zot` and `copilot` read native files, `export` reads
katod's JSONL, all of them with nothing but the standard library, and each gives the same four multisets:
what the person said, what the assistant said, tool calls and tool results. `test_oracle` compares them over
real session files; `left_out.json` keeps which record types of each file are not conversation
(`python -m tests.oracle.update` rewrites it).
"""
