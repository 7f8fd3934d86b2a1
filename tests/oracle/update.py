"""`python -m tests.oracle.update` rewrites left_out.json from the corpus."""

import json

from tests.oracle.corpus import LEFT_OUT, Source, corpus_folder, corpus_sources


def left_out(sources: list[Source]) -> dict[str, dict[str, int]]:
    """Return the counts of the record types that become no event, per file."""
    return {source.name: source.read().left_out() for source in sources}


def rendered(counts: dict[str, dict[str, int]]) -> str:
    """Return JSON with one file per line, with files and types sorted."""
    lines = [f"{json.dumps(name)}: {json.dumps(counts[name], sort_keys=True)}" for name in sorted(counts)]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    found = left_out(corpus_sources())
    if not found:
        raise SystemExit(f"no sessions under {corpus_folder()}: set KATOD_CORPUS")
    LEFT_OUT.write_text(rendered(found), "utf-8")
    print(f"{LEFT_OUT.name}: {len(found)} files")
