"""Who provides a model, judged by its name, for agents that do not say so. Pure."""

import re
from typing import Final

# How the names of models begin.
_PROVIDERS: Final = (
    ("claude", "anthropic"), ("gemini", "google"), ("gpt", "openai"), ("o1", "openai"), ("o3", "openai"),
    ("o4", "openai"), ("codex", "openai"), ("chatgpt", "openai"), ("grok", "xai"),
)  # fmt: skip
_VENDOR: Final = re.compile(r"[a-z][\w.-]*", re.ASCII | re.IGNORECASE)
_FOLDERS: Final = ("models", "publishers", "accounts", "deployments")


def provider_of(model: str) -> str:
    """Return who provides a model; empty if its name does not tell. In `vendor/model`, it is the vendor."""
    vendor, slash, name = model.rpartition("/")
    if slash and vendor not in _FOLDERS:
        return vendor if _VENDOR.fullmatch(vendor) else ""
    return next((provider for begins, provider in _PROVIDERS if name.lower().startswith(begins)), "")
