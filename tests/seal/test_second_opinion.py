"""What others say of katod's signatures: two COSE libraries, the draft's own script, and its schema.

They are installed in an environment of their own, without katod, and get a record, its signature and the public key.
KATOD_VAC_REPO names a clone of the draft's repository; its schema, with what makes the validator read it as it is
meant, is looked for in `targets/schemas` beside the corpus.
"""

import subprocess
import sys
import venv
from pathlib import Path

import pytest

from katod.seal.keys import make_key, public_path, read_public
from katod.seal.record import read_record
from tests.oracle.corpus import corpus_folder
from tests.seal.verifying import verify_record
from tests.support import draft
from tests.support.records import Claude, Codex, says, user
from tests.support.sealing import a_record, written

SCHEMAS = corpus_folder().parent / "targets/schemas"
PACKAGES = ("pycose==1.1.0", "cbor2<6", "cryptography", "cwt", "pycddl>=0.6.4")
pytestmark = pytest.mark.slow

# Each gets the record, the signature and the public key, and fails if they do not belong together.
PYCOSE = """
import sys
from pathlib import Path
from pycose.keys import OKPKey
from pycose.messages import Sign1Message

record, signature, key = map(Path, sys.argv[1:])
message = Sign1Message.decode(signature.read_bytes())
message.key = OKPKey.from_pem_public_key(key.read_text())
message.payload = record.read_bytes()
sys.exit(not message.verify_signature())
"""
CWT = """
import sys
from pathlib import Path
from cwt import COSE, COSEKey
import cbor2

record, signature, key = map(Path, sys.argv[1:])
protected = cbor2.loads(cbor2.loads(signature.read_bytes()).value[0])
public = COSEKey.from_pem(key.read_text(), kid=protected[4], alg="EdDSA")
COSE.new().decode(signature.read_bytes(), public, detached_payload=record.read_bytes())
"""
# Gets the schemas, the signature, and the label of a protected header to take out first.
SCHEMA = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from cddl_compat import compat
import cbor2
import pycddl

source = Path(sys.argv[1], "agent-conversation.cddl").read_text()
tagged = cbor2.loads(Path(sys.argv[2]).read_bytes())
protected = cbor2.loads(tagged.value[0])
protected.pop(int(sys.argv[3]), None)
trace = tagged.value[1].get(100, {})
if sys.argv[3] == "100":
    del trace["agent-vendor"]
pycddl.Schema(compat(source, "signed-agent-record")).validate_cbor(cbor2.dumps(tagged))
pycddl.Schema(compat(source, "protected-header")).validate_cbor(cbor2.dumps(protected))
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Return the interpreter of an environment with the other libraries."""
    folder = tmp_path_factory.mktemp("others")
    venv.create(folder, with_pip=True)
    install = [folder / "bin/pip", "install", "-q", *PACKAGES]
    done = subprocess.run(install, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "bin/python"


def call(python, script, *arguments):
    """Run a script, given as text, in the other environment; return whether it succeeds, and what it says."""
    command = [python, "-I", "-c", script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def key(world):
    """Return the path of a key."""
    make_key(world.home / "key.pem")
    return world.home / "key.pem"


@pytest.fixture
def sealed(world, key):
    """Return records with their signatures: of two agents, as a checkpoint, with times as numbers, without times."""
    for number, maker in enumerate((Claude, Codex), 1):
        session = maker(world).say(user("häßlich 🎈"), says("yes"))
        path = str(world.home / f"{number}.acr.json")
        world.cli("export", session.session, "-f", "agent-record", "-o", path)
        world.cli("seal", path, "--key", str(key), "--checkpoint")
    for number, start in ((3, 1770763000000), (4, None)):
        path = world.home / f"{number}.acr.json"
        path.write_bytes(written(a_record(**{"session-start": start})))
        world.cli("seal", str(path), "--key", str(key))
    return [(path, path.with_suffix("").with_suffix(".acr.sig.cbor")) for path in sorted(world.home.glob("*.acr.json"))]


def changed(path):
    """Return a copy of a file in which one bit is another."""
    data = bytearray(path.read_bytes())
    data[-1 if path.suffix == ".cbor" else data.index(b"yes") if b"yes" in data else data.index(b"user")] ^= 1
    copy = path.with_name(f"changed{path.suffix}")
    copy.write_bytes(data)
    return copy


@pytest.mark.parametrize("library", [PYCOSE, CWT], ids=["pycose", "cwt"])
def test_another_library_verifies_with_the_public_key_alone(python, key, sealed, library):
    """It takes what katod signed, and neither a changed record nor a changed signature nor another key."""
    public = public_path(key)
    other = key.with_name("other.pem")
    make_key(other)
    for record, signature in sealed:
        good, said = call(python, library, record, signature, public)
        assert good, said
        assert not call(python, library, changed(record), signature, public)[0]
        assert not call(python, library, record, changed(signature), public)[0]
        assert not call(python, library, record, signature, public_path(other))[0]


@draft.needed
def test_the_drafts_own_script_and_katod_verify_each_other(python, key, sealed, tmp_path):
    """The script verifies katod's signatures by the public key, and katod the script's, with its claimed issuer."""
    script = draft.git("show", "HEAD:scripts/sign-record.py").decode()
    public = public_path(key)
    for record, signature in sealed:
        arguments = ("verify", "--key", public, "--sig", signature, "--record")
        good, said = call(python, script, *arguments, record)
        assert good, said
        assert f"CWT Issuer:   {read_public(key).urn}" in said
        assert not call(python, script, *arguments, changed(record))[0]
    record, theirs = sealed[0][0], tmp_path / "theirs.sig.cbor"
    good, said = call(python, script, "sign", "--key", key, "--record", record, "--out", theirs)
    assert good, said
    found = verify_record(read_record(record), theirs.read_bytes(), read_public(public))
    assert (found.claims.issuer, found.unsigned) == (read_record(record).provider, ())


@pytest.mark.skipif(not SCHEMAS.exists(), reason=f"no schemas in {SCHEMAS}")
def test_the_drafts_schema_takes_every_signature(python, sealed):
    """Its rules for a signed record and its protected header hold; without a required part, they do not."""
    for _, signature in sealed:
        good, said = call(python, SCHEMA, SCHEMAS, signature, 0)
        assert good, said
    for label in (15, 100):
        good, said = call(python, SCHEMA, SCHEMAS, sealed[0][1], label)
        assert not good
        assert "ValidationError" in said


def test_the_readme_tells_how_to_verify(python, key, sealed, tmp_path):
    """Its lines of Python take a record with its signature, and no other."""
    readme = Path(sys.modules["katod"].__file__).parent / "seal/README.md"
    script = readme.read_text().partition("```python\n")[2].partition("```")[0]
    assert 5 <= len(script.splitlines()) <= 15
    for record, signature in sealed:
        good, said = call(python, script, record, signature, public_path(key))
        assert good, said
        assert not call(python, script, changed(record), signature, public_path(key))[0]
