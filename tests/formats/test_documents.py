"""The documents of real sessions are valid by the specifications of the systems that they are for."""

import importlib.util
import json
from datetime import datetime
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit
from uuid import UUID

import pytest
from jsonschema import Draft7Validator, FormatChecker

from katod.log import EventLog
from katod.model import Options
from katod.record.export import Stretch, render_all, replay
from tests.examples import some
from tests.formats.schemas import schema
from tests.golden.cases import KNOWN, cases
from tests.looping import each
from tests.oracle.corpus import Source, corpus_folder, corpus_sources
from tests.support import draft

DOCUMENTS = [
    "agent-record",
    "vcon",
    "agent-trace",
]  # trajectories are compared with their schema beside the other tests of them
SPECIFICATIONS = corpus_folder() / ".." / "targets" / "schemas"
SOURCES = corpus_sources()


def wrong_in(name, text):
    """Return what is wrong with a document, an empty list if nothing is."""
    return [f"{error.json_path}: {error.message[:200]}" for error in schema(name).iter_errors(json.loads(text))][:3]


@cache
def group():
    """Return the schema of the working group of vCon, with the forms of times and ids. Skips without it."""
    path = SPECIFICATIONS / "vcon-core.wg-2026-07-01.schema.json"
    if not path.exists():
        pytest.skip("the working group's schema of vCon is not here")
    forms = FormatChecker(formats=())
    forms.checks("date-time", raises=ValueError)(lambda text: datetime.fromisoformat(text).tzinfo is not None)
    forms.checks("uuid", raises=ValueError)(lambda text: str(UUID(text)) == text)
    forms.checks("uri")(lambda text: bool(urlsplit(text).scheme))
    return Draft7Validator(json.loads(path.read_text()), format_checker=forms)


def refused(text):
    """Return what the working group's schema refuses in a vCon, and what refers to nothing in it."""
    made = json.loads(text)
    wrong = [f"{error.json_path}: {error.message[:200]}" for error in group().iter_errors(made)]
    turns, parties = range(len(made["dialog"])), range(len(made["parties"]))
    wrong += [f"turn {row['dialog']}" for row in made["attachments"] if row["dialog"] not in turns]
    return wrong + [f"party {row['party']}" for row in made["attachments"] if row["party"] not in parties]


@cache
def cddl():
    """Return the schema of the draft itself, in the words that its checker understands. Skips without it."""
    pycddl = pytest.importorskip("pycddl", reason="the checker of CDDL is not installed")
    if not (SPECIFICATIONS / "agent-conversation.cddl").exists():
        pytest.skip("the draft's CDDL is not here")
    spec = importlib.util.spec_from_file_location("cddl_compat", SPECIFICATIONS / "cddl_compat.py")
    compat = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(compat)
    return pycddl.Schema(compat.compat((SPECIFICATIONS / "agent-conversation.cddl").read_text()))


@each("name", DOCUMENTS)
@each("case", cases()[::6], ids=str)
def test_fixtures_give_valid_documents(name, case):
    """By the JSON Schema of each."""
    assert wrong_in(name, "".join(render_all(case.events(), name, Options()))) == []


@pytest.mark.slow
@pytest.mark.skipif(not SPECIFICATIONS.exists(), reason=f"there are no specifications in {SPECIFICATIONS}")
@each("case", cases()[::4], ids=str)
def test_fixtures_give_vcons_that_the_working_group_takes(case):
    """By its own schema: a schema of katod's may leave out what katod leaves out."""
    assert refused("".join(render_all(case.events(), "vcon", Options()))) == []


@pytest.mark.slow
@each("name", DOCUMENTS)
@each("case", cases(), ids=str)
def test_every_fixture_gives_valid_documents(name, case):
    """All that are left out by default, too."""
    assert wrong_in(name, "".join(render_all(case.events(), name, Options()))) == []


@pytest.mark.slow
@pytest.mark.skipif(not SOURCES, reason="there is no corpus of real sessions")
@each("source", some(SOURCES, 90), ids=lambda source: source.name)
def test_every_real_session_gives_valid_documents(source):
    """By the JSON Schema of each, and by the draft's own CDDL; the vCon has the record in it, byte for byte."""
    cbor2 = pytest.importorskip("cbor2")
    made = {name: exported(source, name) for name in DOCUMENTS}
    if not made["agent-record"]:
        return  # nothing was said in it
    assert {name: wrong for name, text in made.items() if (wrong := wrong_in(name, text))} == {}
    record = json.loads(made["agent-record"])
    assert json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False) == made["agent-record"]
    ids = [entry["id"] for entry in record["session"]["entries"]]
    assert len(ids) == len(set(ids))
    assert json.loads(made["vcon"])["analysis"][0]["body"] == made["agent-record"]
    assert refused(made["vcon"]) == []
    cddl().validate_cbor(cbor2.dumps(record))


@pytest.mark.slow
@draft.needed
def test_every_example_of_the_draft_gives_valid_documents(tmp_path):
    """The sessions that its authors chose."""
    cbor2 = pytest.importorskip("cbor2")
    names = draft.git("ls-tree", "-r", "--name-only", "HEAD", "examples/sessions").decode().split()
    examples = [name for name in names if name.endswith(".jsonl")]
    assert examples
    for name in examples:
        path = tmp_path / Path(name).name
        path.write_bytes(draft.git("show", f"HEAD:{name}"))
        source = Source(path.name.partition("-")[0], path.name, path)
        made = exported(source, "agent-record")
        assert wrong_in("agent-record", made) == [], name
        cddl().validate_cbor(cbor2.dumps(json.loads(made)))
        assert wrong_in("vcon", exported(source, "vcon")) == [], name


def exported(source, name):
    """Return the export of a session file, empty if there is nothing in it."""
    identity = KNOWN[source.agent].named(Path(source.path).absolute())
    stretch = Stretch(str(Path(source.path).absolute()), identity)
    return "".join(render_all(replay(identity.key, [stretch], EventLog()), name, Options()))
