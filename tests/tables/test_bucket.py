"""A data set in a bucket: the same as in a directory; what goes wrong is one line, and loses nothing."""

import os
import shutil
import time
from contextlib import contextmanager

import pytest

from katod.tables.address import bucket_address
from tests.support.records.base import says, user
from tests.tables import buckets
from tests.tables.buckets import KEYS, SAID, answering, moto, nobody, silent

pytestmark = pytest.mark.slow
PLACE = "s3://bucket/katod"


@pytest.fixture(scope="module")
def server():
    """Return the address of a server with one bucket."""
    pytest.importorskip("moto")
    with moto() as address:
        yield address


@pytest.fixture
def bucket(server):
    """Return a client of the bucket, which is empty."""
    import boto3  # noqa: PLC0415 - heavy

    client = buckets.client(server, boto3)
    for name in objects(client):
        client.delete_object(Bucket="bucket", Key=name)
    return client


@pytest.fixture
def export(world, monkeypatch):
    """Return a function that brings a bucket up to date, and returns what katod prints."""
    for name in ("AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)

    def run(address, *options, place=PLACE, code=0):
        if address:
            monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        else:
            monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
        return world.cli("export", "--all", "-f", "parquet", "-o", place, *options, code=code).strip()

    return run


def objects(client):
    """Return the names of all objects in the bucket that are no folders."""
    rows = client.list_objects_v2(Bucket="bucket").get("Contents", [])
    return [row["Key"] for row in rows if not row["Key"].endswith("/")]


def downloaded(client, tables):
    """Put what is in the bucket into the directory of a data set."""
    shutil.rmtree(tables.root, ignore_errors=True)
    for name in objects(client):
        path = tables.root / name.removeprefix("katod/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(client.get_object(Bucket="bucket", Key=name)["Body"].read())
    return tables.content()


def test_it_is_the_same_as_in_a_directory(world, tables, two, server, bucket, export):
    """The same files with the same rows; after a change, after a deletion, and when what katod knew is lost."""
    assert export(server) == "wrote 2"
    tables.export()
    expected, names = tables.content(), sorted(tables.parts())
    assert sorted(name.removeprefix("katod/") for name in objects(bucket)) == names
    assert downloaded(bucket, tables) == expected
    assert export(nobody()) == "unchanged 2"  # without news, nothing is asked of the server

    shutil.rmtree(tables.root)
    two[0].say(user("more"), says("yes"))
    two[1].path.unlink()
    assert export(server) == "updated 1"
    shutil.rmtree(world.state / "tables")
    two[0].say(user("again"))
    assert export(server) == "updated 1"
    found = downloaded(bucket, tables)
    assert tables.words()["00000001"] == ["words 1", "answer", "more", "yes", "again"]
    assert tables.words()["00000002"] == ["words 2", "answer"]
    assert len(found["sessions"]) == 2


def test_an_object_that_was_deleted_is_written_again_with_the_next_news(world, tables, two, server, bucket, export):
    """It is noticed when its month is written, not before: a bucket is not asked without need."""
    export(server)
    before = downloaded(bucket, tables)["events"]
    [name] = (name for name in objects(bucket) if "/events/" in name)
    bucket.delete_object(Bucket="bucket", Key=name)
    assert export(server) == "unchanged 2"
    two[0].say(user("more"))
    assert export(server) == "updated 2"
    assert set(downloaded(bucket, tables)["events"]) > set(before)


def test_the_files_of_an_empty_month_and_another_name_of_the_machine(world, tables, two, server, bucket, export):
    """What is superseded is deleted."""
    export(server)
    world.configure(**{"archive.machine": "laptop"})
    export(server)
    assert {name.split("/")[2] for name in objects(bucket)} == {"machine=laptop"}
    world.configure(**{"archive.machine": "laptop", "exclude": ["/"]})
    assert export(server) == "excluded 2"
    assert objects(bucket) == []


def test_another_machine_of_the_same_name_is_told(world, two, server, bucket, export):
    """Nothing of it is overwritten."""
    export(server)
    before = {name: bucket.head_object(Bucket="bucket", Key=name)["ETag"] for name in objects(bucket)}
    shutil.rmtree(world.state / "tables")
    (world.state / "machine").unlink()
    export(server, code=1)
    assert "belongs to another machine that is also called local" in world.said
    assert {name: bucket.head_object(Bucket="bucket", Key=name)["ETag"] for name in objects(bucket)} == before


def test_a_large_object_is_uploaded_in_parts_and_is_complete(world, tables, server, bucket, export):
    """More than one request may carry."""
    import random  # noqa: PLC0415

    noise = random.Random(1)
    text = " ".join(f"{noise.getrandbits(64):x}" for _ in range(1_500_000))
    one = world.session(1)
    for number in range(2):
        one.say(user(f"{number} {text}"))
    export(server, "--no-redact")
    assert max(row["Size"] for row in bucket.list_objects_v2(Bucket="bucket")["Contents"]) > 15_000_000
    downloaded(bucket, tables)
    assert [row["text"][2:] == text for row in tables.rows("messages")] == [True, True]


@contextmanager
def _nobody():
    yield nobody()


# What answers instead of the server, given its address, and what katod says.
WRONG = {
    "refused": (lambda _: answering(403, "InvalidAccessKeyId"), "the credentials are refused"),
    "not permitted": (lambda server: answering(403, "AccessDenied", "PUT", server), "the credentials are refused"),
    "expired": (lambda server: answering(400, "ExpiredToken", "PUT", server), "the credentials are refused"),
    "missing": (lambda _: answering(404, "NoSuchBucket"), "there is no such bucket"),
    "busy": (lambda _: answering(503, "SlowDown"), "the server takes nothing now"),
    "full": (lambda server: answering(507, "XMinioStorageFull", "PUT", server), "the server has no space left"),
    "strange": (lambda _: answering(418, "Teapot"), "the server refuses a request"),
    "unreachable": (lambda _: _nobody(), "the server does not answer"),
    "silent": (lambda _: silent(), "the server does not answer"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_goes_wrong_is_one_line(world, two, server, bucket, export, name):
    """With the address and what to do, without a word of the server or the keys; the next run completes it."""
    export(server)
    before = objects(bucket)
    two[0].say(user("more"))
    wrong, what = WRONG[name]
    began = time.monotonic()
    with wrong(server) as address:
        export(address, code=1)
    assert time.monotonic() - began < 60
    [line] = world.said.splitlines()
    assert line.startswith(f"{PLACE}: {what}")
    assert not [word for word in (SAID, *KEYS.values()) if word in line]
    assert objects(bucket) == before
    assert export(server) in ("updated 1, unchanged 1", "updated 2")  # if its month was being written, all of that


def test_a_bucket_that_is_not_there(world, two, server, export):
    """As the server says it."""
    export(server, place="s3://nowhere/katod", code=1)
    assert world.said.startswith("s3://nowhere/katod: there is no such bucket")


def test_a_forgotten_session_leaves_no_word_in_a_bucket(world, tables, two, server, bucket, export):
    """If the server does not answer, the next run takes its rows out."""
    for number, answering_ in ((3, True), (4, False)):
        one = world.session(number)
        one.count = 1000 * number
        one.say(user(f"::start\nzanzibar {number}"), says("yes"))
        world.once()
        export(server)
        downloaded(bucket, tables)
        assert tables.has("zanzibar")
        before = os.environ["AWS_ENDPOINT_URL"]
        os.environ["AWS_ENDPOINT_URL"] = server if answering_ else nobody()
        shown = world.cli("forget", one.session, "--outputs", "--yes", code=0 if answering_ else 1)
        assert f"its rows in {PLACE} are deleted" in shown
        assert answering_ or f"its rows stay for now in {PLACE}" in world.said
        os.environ["AWS_ENDPOINT_URL"] = before
        one.path.unlink()
        assert export(server) == "unchanged 2"
        downloaded(bucket, tables)
        assert tables.has("zanzibar") == []
        assert len(tables.rows("sessions")) == 2


def test_keys_are_in_no_file_of_katods(world, two, server, bucket, export):
    """Nor in what it prints."""
    printed = export(server) + world.said
    assert not [word for word in KEYS.values() if word in printed]
    for path in filter(lambda path: path.is_file(), world.state.rglob("*")):
        assert not [word for word in KEYS.values() if word.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    ("variables", "what"),
    [
        ({"AWS_ACCESS_KEY_ID": ""}, "no credentials are given"),
        ({"AWS_SECRET_ACCESS_KEY": ""}, "no credentials are given"),
        ({"AWS_ENDPOINT_URL": "http://192.0.2.1:9000"}, "AWS_ENDPOINT_URL is not encrypted"),
        ({"AWS_ENDPOINT_URL": "http://localhost.example.com"}, "AWS_ENDPOINT_URL is not encrypted"),
        ({"AWS_ENDPOINT_URL": "ftp://localhost"}, "AWS_ENDPOINT_URL is not the address"),
        ({"AWS_ENDPOINT_URL": "https://key:secret@localhost"}, "AWS_ENDPOINT_URL is not the address"),
        ({"AWS_ENDPOINT_URL": "https://localhost/path"}, "AWS_ENDPOINT_URL is not the address"),
    ],
)
def test_what_cannot_be_used_is_not_tried(variables, what):
    """Nothing is connected to."""
    from katod.errors import TablesError  # noqa: PLC0415
    from katod.tables.bucket import connected  # noqa: PLC0415 - an extra

    with pytest.raises(TablesError, match=what) as caught:
        connected(bucket_address(PLACE), KEYS | variables)
    assert "secret" not in str(caught.value)


def test_a_killed_upload_leaves_the_old_object(world, tables, two, server, bucket, export, monkeypatch):
    """At whichever object the run ends; the next one completes it."""
    from katod.tables.bucket import BucketPlace  # noqa: PLC0415 - an extra
    from tests.support.world import CUT, in_new_process  # noqa: PLC0415

    export(server)
    real = BucketPlace.upload
    for last in range(6):
        two[0].say(user(f"more {last}"))
        left = [last]

        def upload(*given, left=left):
            left[0] -= 1
            if left[0] < 0:
                os._exit(CUT)
            return real(*given)

        def act(upload=upload):
            monkeypatch.setattr(BucketPlace, "upload", upload)
            export(server)

        assert in_new_process(act, ends=(0, CUT)) == CUT
        export(server)
        downloaded(bucket, tables)
        assert tables.words()["00000001"][-1] == f"more {last}"
        assert len(tables.rows("sessions")) == 2
        assert len(tables.words()["00000001"]) == 3 + last


def test_the_variables_of_one_service_come_first(two, server, bucket, export, monkeypatch):
    """As in other clients of S3: its own address before that of all services, and a region by either name."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", server)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    assert export(nobody()) == "wrote 2"
