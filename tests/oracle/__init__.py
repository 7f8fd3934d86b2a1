"""An independent oracle that reads the conversation of a session file without any of katod's code.

There is a module for each agent with a form of its own, which reads native files; `export` reads katod's JSONL. All use only the standard library, and each returns the same four multisets: the person's messages, the
assistant's messages, tool calls and tool results. `test_oracle` compares them for real session files, `test_tools`
counts the calls whose tool has no family.
A reader is written ahead of the adapter that it is to judge. It is in `corpus.READERS` as soon as there is one.
`left_out.json` lists the record types of each file that are not part of the conversation
(`python -m tests.oracle.update` rewrites it).
"""
