"""Tests are where their modules are: `katod/a/b.py` is tested by `tests/a/test_b.py`, or by a test that is named here.

And modules are where documents and comments say that they are.
"""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.form
SOURCE = Path(__file__).parents[1]
# Which test guards the modules that have none of their own: most are parts of what it tests as a whole.
GUARDED = {
    "tests/test_config.py": "destinations",
    "tests/matrix/test_client.py": "delivery/http",
    "tests/matrix/test_delivery.py": "matrix/kind",
    "tests/otlp/test_delivery.py": "otlp/kind",
    "tests/formats/otlp/test_printer.py": (
        "formats/otlp/calls formats/otlp/chats formats/otlp/context formats/otlp/names formats/otlp/session "
        "formats/otlp/spent"
    ),
    "tests/doctor/test_matrix.py": "doctor/deliveries",
    "tests/cli/test_why.py": "record/editnotes why/attribution why/collect why/explain",
    "tests/store/test_usagecache.py": "store/keyedhash",
    "tests/why/test_trace.py": "why/carry why/rows",
    "tests/why/test_git.py": "gitcommand",
    "tests/why/test_target.py": "why/places",
    "tests/formats/redact/test_redactor.py": "formats/redact/engine",
    "tests/agents/antigravity/test_adapter.py": "agents/antigravity/places",
    "tests/agents/cline/test_adapter.py": "agents/cline/manifest agents/cline/results",
    "tests/agents/vscode/test_adapter.py": "agents/vscode/parts",
    "tests/agents/qwen/test_adapter.py": "agents/qwen/questions agents/qwen/results",
    "tests/agents/claude/test_adapter.py": ("agents/claude/ignored agents/claude/queued agents/claude/system"),
    "tests/agents/claude/test_queue.py": "agents/claude/text",
    "tests/agents/claude/test_running.py": "agents/claude/places",
    "tests/agents/claude/test_teammates.py": "agents/claude/builder",
    "tests/agents/codex/test_adapter.py": "agents/codex/ignored agents/codex/notes agents/codex/promptitems",
    "tests/agents/codex/test_calls.py": "agents/codex/builder agents/codex/shell agents/codex/tools",
    "tests/agents/codex/test_flat.py": "agents/sniffing",
    "tests/agents/codex/test_requests.py": "agents/codex/text",
    "tests/agents/copilot/test_adapter.py": "agents/copilot/fields agents/copilot/questions",
    "tests/agents/gemini/test_adapter.py": "agents/gemini/results",
    "tests/agents/opencode/test_adapter.py": "agents/opencode/turns",
    "tests/agents/opencode/test_second.py": "agents/opencode/opening agents/opencode/places",
    "tests/agents/kimi/test_adapter.py": "agents/kimi/places agents/kimi/questions",
    "tests/agents/test_families.py": "agents/cowork",
    "tests/doctor/test_agents.py": "agents/others",
    "tests/agents/test_runs.py": ("agents/opencode/running agents/reports"),
    "tests/archive/test_archived.py": "archive/marks cli/excluding cli/unmarking",
    "tests/archive/test_update.py": "archive/excluded archive/writer",
    "tests/cli/test_completion.py": "cli/parameters",
    "tests/cli/test_export.py": "cli/content cli/ending cli/exporting cli/formatchoice",
    "tests/cli/test_layout.py": "cli/printing",
    "tests/seal/test_head.py": "cli/sealhead formats/eventlines",
    "tests/cli/test_search.py": "cli/searchscope cli/searchview",
    "tests/cli/test_serve.py": "serve/address",
    "tests/cli/test_sessions.py": "cli/recorded cli/sessionrow",
    "tests/cli/test_setup.py": "setup/made setup/plan setup/preview",
    "tests/discover/test_discovery.py": "discover/source",
    "tests/doctor/test_findings.py": "doctor/examine",
    "tests/doctor/test_ledger.py": "doctor/case",
    "tests/formats/atif/test_answers.py": "formats/atif/metrics",
    "tests/formats/atif/test_document.py": "formats/atif/answer formats/atif/steps",
    "tests/formats/matrix/test_printer.py": (
        "formats/matrix/agents formats/matrix/calls formats/matrix/imagesize formats/matrix/lines "
        "formats/matrix/names formats/matrix/notes formats/matrix/pending formats/matrix/places "
        "formats/matrix/session formats/matrix/shown formats/matrix/sums"
    ),
    "tests/formats/records/test_agentrecord.py": "formats/records/entryids",
    "tests/formats/records/test_attribution.py": "formats/records/changes formats/records/written",
    "tests/formats/records/test_recordentries.py": "formats/rows",
    "tests/formats/redact/test_filter.py": "formats/redact/values",
    "tests/formats/redact/test_published.py": "formats/redact/wordlist",
    "tests/formats/redact/test_rules.py": (
        "formats/redact/forms formats/redact/keybody formats/redact/names formats/redact/settings"
    ),
    "tests/formats/test_every_format.py": "formats/protocol",
    "tests/formats/test_jsonl.py": "formats/lines",
    "tests/formats/test_usage.py": "agents/answers",
    "tests/formats/transcript/test_base.py": "formats/transcript/pictures",
    "tests/formats/transcript/test_html.py": "formats/transcript/messages formats/transcript/style",
    "tests/formats/transcript/test_turns.py": (
        "formats/transcript/brief formats/transcript/content formats/transcript/pullrequest"
    ),
    "tests/mcp/test_tools.py": "mcp/recordings",
    "tests/record/test_pausing.py": "cli/pause",
    "tests/record/test_policy.py": "formats/redact/version",
    "tests/rescue/test_rescuer.py": "chores rescue/copyfile rescue/names rescue/plan rescue/saving",
    "tests/search/test_transcripts.py": "search/passages",
    "tests/search/test_sessions.py": "search/lines search/hits search/spoken",
    "tests/serve/index/test_sessions.py": "serve/index/ledger",
    "tests/serve/page/test_recording.py": "record/resumecommand",
    "tests/serve/test_app.py": ("serve/failures serve/page/frame serve/page/login serve/protocol/connection"),
    "tests/serve/test_failing.py": "serve/http",
    "tests/serve/page/test_machines.py": "search/shared serve/page/machinesview",
    "tests/serve/test_find.py": "serve/page/findview serve/page/search",
    "tests/serve/test_page.py": (
        "serve/page/listview serve/page/pages serve/page/sessionlist serve/page/sessionview serve/page/streams"
    ),
    "tests/service/test_systemd.py": "service/manager",
    "tests/store/test_tombstones.py": "store/collections",
    "tests/tables/test_update.py": "tables/place tables/writer",
    "tests/test_daemon.py": "shellrequests",
    "tests/test_pipeline.py": "model",
}


def modules():
    """Return the path of each module below `katod`, without its suffix."""
    found = (path.relative_to(SOURCE / "katod") for path in (SOURCE / "katod").rglob("*.py"))
    return [path.with_suffix("") for path in found if not path.name.startswith("__")]


def test_a_module_has_a_test_of_its_own_or_one_that_guards_it():
    """Nothing is listed that has a test of its own, and no test that does not exist."""
    listed = " ".join(GUARDED.values()).split()
    alone = {str(path) for path in modules() if not (SOURCE / "tests" / path.parent / f"test_{path.name}.py").exists()}
    assert sorted(listed) == sorted(alone)
    assert [name for name in GUARDED if not (SOURCE / name).exists()] == []


def test_a_module_that_is_named_by_its_path_exists():
    """In the documents, and in the comments and docstrings of the code."""
    texts = [SOURCE / "README.md", *(SOURCE / "katod").rglob("*.md"), *(SOURCE / "katod").rglob("*.py")]
    named = {
        (path, name) for path in texts for name in re.findall(r"`([a-z_]+(?:/[a-z_]+)+\.py)[^`]*`", path.read_text())
    }
    assert len(named) > 20
    found = {
        (path, name)
        for path, name in named
        for base in (SOURCE, SOURCE / "katod", path.parent)
        if (base / name).exists()
    }
    assert sorted(name for _, name in named - found) == []
