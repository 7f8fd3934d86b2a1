"""Names of models, and of nothing else: no directory gets out with one."""

from hypothesis import given
from hypothesis import strategies as st

from katod.formats.otlp.spans import model_of
from tests.examples import examples
from tests.looping import each

PART = st.text(st.characters(codec="ascii", categories=("L", "N"), include_characters="_.-"), min_size=1, max_size=12)
FILES = (".gguf", ".GGUF", ".bin", ".safetensors", ".onnx", ".gguf:Q4")


@each(
    "name",
    [
        "claude-opus-4-6", "gpt-5.1", "llama3:8b", "meta-llama/Llama-3.3-70B", "deepseek/deepseek-r1:free",
        "us.anthropic.claude-sonnet-4-20250514-v1:0", "Org_1/model@2025-01-01",
    ],
)  # fmt: skip
def test_a_model_is_named_as_it_is(name: str) -> None:
    """With an owner, if it has one."""
    assert model_of(name) == name


@each(
    ("text", "name"),
    [
        ("clients/acme-merger/llama.gguf", "llama"), ("acme-merger/llama.gguf", "llama"),
        ("D:/acme-merger/x.gguf", "x"), ("C:/Users/alice", "alice"), ("C:\\models\\x.Safetensors", "x"),
        ("/srv/llama", "llama"), ("models/acme/llama", "llama"), ("./llama", "llama"), ("~/llama", "llama"),
        ("acme/x.gguf:Q4", "x:Q4"), ("acme/x.bin-00001-of-2", "x-00001-of-2"), ("openrouter/google/gemini", "gemini"),
        ("arn:aws:bedrock:eu-west-1:123456789012:inference-profile/claude", "claude"),
        ("file:acme/x", "x"), ("two words", ""), ("acme/", ""), ("", ""),
    ],
)  # fmt: skip
def test_of_what_may_be_a_path_the_last_component_counts(text: str, name: str) -> None:
    """Without the extension of a file."""
    assert model_of(text) == name


@examples(20, 300)
@given(st.lists(PART, min_size=1, max_size=4), PART, st.sampled_from(FILES), st.sampled_from("/\\"))
def test_no_directory_gets_out(folders: list[str], name: str, extension: str, separator: str) -> None:
    """Whatever it is called, of a model in a file, and of one in more than one directory."""
    secret = [f"secret{folder}" for folder in folders]
    found = model_of(separator.join([*secret, name + extension]))
    assert "secret" not in found or "secret" in name
    assert not set("/\\") & set(found)
    for start in ("/", "C:/", "~/", "./", "../", "https://"):
        assert "/" not in model_of(start + "/".join([*secret, name]))
    assert model_of("/".join(["a", *secret, name])).count("/") == 0
