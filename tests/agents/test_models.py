"""Who provides a model."""

from katod.agents.models import provider_of
from tests.looping import each


@each(
    ("model", "provider"),
    [
        ("claude-opus-4-6", "anthropic"),
        ("GPT-5", "openai"),
        ("models/gemini-3-pro", "google"),
        ("z-ai/glm-5", "z-ai"),
        ("glm-5", ""),
        ("9lives/model", ""),
        ("", ""),
        *((f"{name}-1", "openai") for name in ("o1", "o3", "o4", "codex", "chatgpt")),
        ("grok-5", "xai"),
        *((f"{folder}/gpt-5", "openai") for folder in ("publishers", "accounts", "deployments")),
    ],
)
def test_a_models_name_tells_its_provider(model: str, provider: str) -> None:
    """Its vendor if it names one that can be a name, else what names of models begin with."""
    assert provider_of(model) == provider
