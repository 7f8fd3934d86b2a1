"""The table of redaction rules: for each, what is replaced, and a similar text that is not."""

import re
from pathlib import Path

import pytest

from katod.formats.redact.forms import FORMS
from katod.formats.redact.names import FACTS
from katod.formats.redact.redactor import redact
from katod.formats.redact.rules import RULES
from tests.looping import each

from . import published
from .foreign import cases
from .test_redactor import BASE32, HEX, SAMPLES, URLSAFE, body, pem

# rule, a text that it matches, a text that it does not; assembled from parts, so that no scanner reports them.
TABLE = [
    ("private-key", pem("EC ", body(64)), "-----BEGIN PUBLIC " + "KEY-----\n" + body(64)),
    ("anthropic-key", "sk-" + "ant-api03-" + body(93, URLSAFE), "sk-" + "ant-api03 is the prefix of its keys"),
    ("openrouter-key", "sk-" + "or-v1-" + body(64, HEX), "sk-" + "or-v1-" + body(8, HEX)),
    ("openai-key", "sk-" + "proj-" + body(120, URLSAFE), "sk-" + "proj-short-name"),
    ("openai-key", "sk-" + body(48), "sk-learn-contrib-extras-and-more-of-it"),
    ("github-token", "gh" + "p_" + body(36), "gh" + "p_short_name_of_a_thing_in_code"),
    ("github-token", "github" + "_pat_" + body(22) + "_" + body(59), "github" + "_pat_ opens them"),
    ("gitlab-token", "gl" + "pat-" + body(20, URLSAFE), "gl" + "pat-tokens"),
    ("slack-token", "xox" + "b-123456789012-" + body(24), "xox" + "b-tokens"),
    (
        "slack-webhook",
        "https://hooks.slack.com/services/T0123ABCD/B0123ABCD/" + body(24),
        "https://hooks.slack.com/docs",
    ),
    ("huggingface-token", "h" + "f_" + body(34), "h" + "f_hub_download_of_a_very_long_name_indeed"),
    ("npm-token", "npm" + "_" + body(36), "npm" + "_config_registry_of_this_very_long_project_name"),
    ("pypi-token", "pypi" + "-AgEIcHlwaS5vcmc" + body(120, URLSAFE), "pypi" + "-publish-action-v1"),
    ("stripe-key", "sk" + "_live_" + body(24), "sk" + "_test_" + "key"),
    ("stripe-key", "wh" + "sec_" + body(32), "wh" + "sec_ begins it"),
    ("supabase-token", "sb" + "p_" + body(40, HEX), "sb" + "p_size_in_pixels"),
    ("groq-key", "gs" + "k_" + body(52), "gs" + "k_" + body(12)),
    ("xai-key", "xa" + "i-" + body(80), "xa" + "i-" + body(20)),
    ("perplexity-key", "ppl" + "x-" + body(48), "ppl" + "x-" + body(20)),
    ("digitalocean-token", "do" + "p_v1_" + body(64, HEX), "do" + "p_v1_tokens"),
    ("shopify-token", "shp" + "at_" + body(32, HEX), "shp" + "at_of_the_admin_interface_of_the_shop"),
    ("vault-token", "hv" + "s." + body(90, URLSAFE), "hv" + "s.example.org"),
    ("docker-token", "dckr" + "_pat_" + body(27, URLSAFE), "dckr" + "_pat_" + "tokens"),
    ("linear-key", "lin" + "_api_" + body(40), "lin" + "_api_of_the_very_long_name_of_a_client"),
    ("figma-token", "fig" + "d_" + body(40, URLSAFE), "fig" + "d_" + body(12)),
    ("age-key", "AGE-SECRET-" + "KEY-1" + body(58, BASE32), "AGE-SECRET-" + "KEY-1 begins it"),
    ("google-oauth", "ya" + "29." + body(80, URLSAFE), "ya" + "29.example"),
    ("google-oauth", "GOC" + "SPX-" + body(28, URLSAFE), "GOC" + "SPX-secret"),
    ("google-api-key", "AI" + "za" + body(35, URLSAFE), "AI" + "za" + body(36, URLSAFE)),
    ("sendgrid-key", "SG" + "." + body(22, URLSAFE) + "." + body(43, URLSAFE), "SG" + ".example.org"),
    ("telegram-token", "123456789:" + "AA" + body(33, URLSAFE), "12:34:56:AA:BB:CC:DD:EE"),
    ("discord-token", "MTk4NjIyNDgzNDcxOTI1MjQ4." + "Cl2FMQ." + body(27, URLSAFE), "archive.document." + body(27)),
    ("discord-webhook", "https://discord.com/api/webhooks/123456789012345678/" + body(68), "/api/webhooks/list"),
    ("aws-key-id", "AK" + "IA" + body(16, BASE32), "AK" + "IA" + body(20, BASE32)),
    ("aws-key-id", "AS" + "IA" + body(16, BASE32), "AS" + "IA PACIFIC"),
    ("jwt", "eyJ" + body(20) + ".eyJ" + body(40) + "." + body(43), "eyJ" + body(30) + " is base64 of JSON"),
    ("url-password", "postgres://app:" + body(12) + "@db/x", "postgres://app:${PASSWORD}@db/x"),
    ("wandb-key", "wandb" + "_v1_" + body(80), "wandb" + "_v1_ begins it"),
    ("nuget-key", "oy" + "2" + body(43, "abc0123456789"), "oy" + "2 begins it"),
    ("codecov-token", "codecov" + "_" + body(40, URLSAFE), "codecov" + "_uploader"),
    ("snyk-token", "snyk" + "_uat." + body(8, HEX) + "." + body(60), "snyk" + "_uat.example"),
    ("fly-token", "fo" + "1_" + body(43, URLSAFE), "fo" + "1_" + body(12)),
    ("google-oauth", "1/" + "/0" + body(60, URLSAFE), "see http://1//0/index"),
    ("webhook", "https://hooks.zapier.com/hooks/catch/1234567/" + body(7), "https://hooks.zapier.com/hooks/catch/"),
    ("url-signature", "https://x.example/b?sv=2023&sig=" + body(30), "https://x.example/b?sv=2023&sig=none"),
    ("password-hash", "root:" + "$6" + "$" + body(16) + "$" + body(86), "costs $6 or $5"),
    (
        "command-password",
        "npm config set //npm.example.org/:_authToken " + body(36),
        "npm config set //x/:_authToken x",
    ),
    ("written-password", "ALTER USER app WITH PASSWORD '" + body(10) + "'", "ALTER USER app WITH PASSWORD '%s'"),
    ("written-password", "mnemonic: " + "river stone maple " * 4, "the mnemonic is short for it, says the page of it"),
    ("authorization", "Authorization: Bearer " + body(30), "Authorization: Bearer $TOKEN"),
    ("secret", "api_key = " + body(20), "api_key = your-api-key-here-12345"),
]


@pytest.mark.fault("secrets")
@each(("name", "goes", "stays"), TABLE)
def test_a_rule_meets_what_it_names_and_nothing_like_it(name, goes, stays):
    """The first text is replaced by the rule's name; the second is unchanged."""
    assert f"[REDACTED:{name}]" in redact(f"see {goes} there")
    assert redact(f"see {stays} there") == f"see {stays} there"


@pytest.mark.slow
def test_every_rule_has_an_example():
    """Every rule matches an example: in this table, or among the generated secrets."""
    examples = [goes for _, goes, _ in TABLE] + [f"{stays}{secret}" for _, stays, secret in SAMPLES]
    examples += (case.text for case in (*cases(per_kind=1), *published.cases()))
    for rule in (*RULES, *FORMS):
        pattern = re.compile(rule.pattern, re.ASCII | re.MULTILINE)
        assert any(pattern.search(example) for example in examples), rule


def test_the_documents_name_every_rule():
    """Every rule that may appear in a placeholder is in katod/formats/docs/redaction.md."""
    document = (Path(__file__).parents[3] / "katod/formats/docs/redaction.md").read_text()
    names = [*(rule.name for rule in (*RULES, *FORMS)), *FACTS]
    assert [name for name in names if f"`{name}`" not in document] == []
