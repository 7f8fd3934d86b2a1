"""Who provides a model, judged by its name, for agents that do not say so. Pure."""

from typing import Final

# How the names of models begin.
_PROVIDERS: Final = (
    ("claude", "anthropic"), ("gemini", "google"), ("gpt", "openai"), ("o1", "openai"), ("o3", "openai"),
    ("o4", "openai"), ("codex", "openai"), ("chatgpt", "openai"), ("grok", "xai"),
)  # fmt: skip


def provider_of(model: str) -> str:
    """Return who provides a model; empty if its name does not tell. In `vendor/model`, it is the vendor."""
    vendor, slash, name = model.rpartition("/")
    if slash:
        return vendor.partition("/")[0]
    return next((provider for begins, provider in _PROVIDERS if name.lower().startswith(begins)), "")
