"""The kinds of secrets that have a shape of their own. Data only.

The facts are public: the vendors' documentation, tokens that they publish as examples, and the rule sets of secret
scanners. To add a kind that starts with a prefix, add a row to `TOKENS`.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

ALNUM: Final = "[A-Za-z0-9]"
WORD: Final = r"[A-Za-z0-9_]"
URLSAFE: Final = r"[A-Za-z0-9_-]"
DASHED: Final = "[A-Za-z0-9-]"
BASE64: Final = "[A-Za-z0-9+/=]"
PADDED: Final = "[A-Za-z0-9_=-]"
DOTTED: Final = "[A-Za-z0-9_=.-]"
HEX: Final = "[a-f0-9]"
ANYHEX: Final = "[A-Fa-f0-9]"
LOWER: Final = "[a-z0-9]"
UPPER: Final = "[A-Z0-9]"
GROUPS: Final = "[a-f0-9-]"  # a UUID
NO_EXAMPLE: Final = r"(?![xX]{8}|[A-Z0-9]{0,16}EXAMPLE)"


class Rule(NamedTuple):
    """A kind of secret; group 1 of the pattern, if there is one, is kept.

    `marker` matches somewhere in every match. It has no assertions, so that any engine can search for it. One of the
    `needles` is in every match, if any are given. `broken` if a match may contain no long run of letters and digits.
    """

    name: str
    marker: str
    pattern: str
    fact: str
    needles: tuple[str, ...] = ()
    broken: bool = False


class Token(NamedTuple):
    """A kind of secret that starts with a prefix: `least` characters or more after it, or exactly so many."""

    name: str
    prefixes: str
    alphabet: str
    least: int
    fact: str
    exact: bool = False

    def rule(self) -> Rule:
        """Return the rule. A prefix that may be part of a word counts only at the beginning of a word."""
        prefixes = self.prefixes.split()
        starts = "|".join(re.escape(start) if _is_distinct(start) else fresh(re.escape(start)) for start in prefixes)
        length = f"{{{self.least}}}(?!{ALNUM})" if self.exact else f"{{{self.least},}}"
        if self.alphabet == DOTTED:  # a last dot ends the sentence
            length = f"{{{self.least - 1},}}{PADDED}"
        enough = min(self.least, 8) if all(map(_is_distinct, prefixes)) else self.least
        marker = f"{any_of(prefixes)}{self.alphabet}{{{enough}}}"
        return Rule(self.name, marker, f"(?:{starts}){NO_EXAMPLE}{self.alphabet}{length}", self.fact,
                    tuple(prefixes), "/" in self.alphabet)  # fmt: skip


def fresh(start: str) -> str:
    r"""Match the start outside a word, or directly after a JSON string's `\n`, `\r`, `\t` or a colour code."""
    return rf"{start}(?:(?<![\w+/-]{start})|(?<=\\[nrt]{start})|(?<=[0-9;\[][mK]{start}))"


def any_of(words: Iterable[str]) -> str:
    """Return a pattern of any of these words that takes a few steps only: a tree of their characters.

    Of two words of which one begins with the other, the longer one matches.
    """
    tree: dict[str, list[str]] = {}
    for word in words:
        tree.setdefault(word[:1], []).append(word[1:])
    end = "|" if tree.pop("", None) else ""
    found = "|".join(re.escape(first) + any_of(rest) for first, rest in tree.items())
    return f"(?:{found}{end})" if found else ""


def _is_distinct(prefix: str) -> bool:
    """Return whether this is hardly ever a part of something else; four capitals and a dash are, in base64."""
    return len(prefix) >= 4 and prefix[-1] in "-_." and not (len(prefix) <= 5 and prefix[:-1].isupper())


# Longer prefixes come first: `sk-ant-` before `sk-`.
TOKENS: Final = (
    # models
    Token("anthropic-key", "sk-ant-", URLSAFE, 16, "Anthropic: sk-ant-api03-, -admin01-, -oat01-"),
    Token("openrouter-key", "sk-or-v1- sk-or-", ALNUM, 20, "OpenRouter: sk-or-v1- and 64 hex"),
    Token("openai-key", "sk-proj- sk-svcacct- sk-admin-", URLSAFE, 16, "OpenAI: project, service, admin"),
    Token("langfuse-key", "sk-lf-", GROUPS, 36, "Langfuse: a UUID"),
    Token("helicone-key", "sk-helicone-", URLSAFE, 20, "Helicone"),
    Token("huggingface-token", "hf_ api_org_", ALNUM, 30, "Hugging Face: 34 letters and digits"),
    Token("groq-key", "gsk_", ALNUM, 40, "Groq: 52 letters and digits"),
    Token("xai-key", "xai-", ALNUM, 60, "xAI: 80 letters and digits"),
    Token("perplexity-key", "pplx-", ALNUM, 40, "Perplexity: 48 letters and digits"),
    Token("replicate-token", "r8_", ALNUM, 37, "Replicate: 37 letters and digits"),
    Token("tavily-key", "tvly-", URLSAFE, 24, "Tavily: 32 letters and digits, or dev- or prod- and those"),
    Token("langsmith-key", "lsv2_pt_ lsv2_sk_ ls__", WORD, 32, "LangSmith: 32 hex _ 10 hex"),
    Token("nvidia-key", "nvapi-", URLSAFE, 60, "NVIDIA: 64 characters"),
    Token("pinecone-key", "pcsk_", WORD, 40, "Pinecone: about 70 characters"),
    Token("elevenlabs-key", "sk_", HEX, 48, "ElevenLabs: 48 hex", exact=True),
    Token("cerebras-key", "csk-", ALNUM, 40, "Cerebras: 48 letters and digits"),
    Token("fireworks-key", "fw_", ALNUM, 20, "Fireworks: 22 to 24 letters and digits"),
    Token("together-key", "tgp_v1_", URLSAFE, 40, "Together: 43 characters"),
    Token("firecrawl-key", "fc-", HEX, 32, "Firecrawl: 32 hex", exact=True),
    Token("jina-key", "jina_", URLSAFE, 40, "Jina: 60 characters"),
    Token("voyage-key", "pa-", URLSAFE, 43, "Voyage: 43 characters", exact=True),
    Token("e2b-key", "e2b_", HEX, 40, "E2B: 40 hex"),
    Token("runpod-key", "rpa_", ALNUM, 40, "RunPod"),
    Token("wandb-key", "wandb_v1_", WORD, 40, "Weights & Biases"),
    Token("browserbase-key", "bb_live_ bb_test_", URLSAFE, 20, "Browserbase: 27 characters"),
    Token("context7-key", "ctx7sk-", GROUPS, 36, "Context7: a UUID"),
    Token("llamacloud-key", "llx-", ALNUM, 40, "LlamaCloud: 48 letters and digits"),
    Token("apify-token", "apify_api_", ALNUM, 32, "Apify: 36 letters and digits"),
    # forges, packages, builds
    Token("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", WORD, 36, "GitHub: personal, OAuth, app"),
    Token("github-token", "github_pat_", WORD, 22, "GitHub: fine-grained, 22 _ 59"),
    Token("gitlab-token", "glpat- gldt- glrt- glft- glffct- glsoat-", DOTTED, 20, "GitLab: personal, deploy, runner"),
    Token("gitlab-token", "glimt- glptt- glagent- gloas- GR1348941", URLSAFE, 20, "GitLab: mail, trigger, agent"),
    Token("gitlab-token", "glcbt-", URLSAFE, 22, "GitLab: job token, 1 to 5 _ 20"),
    Token("gitlab-session", "_gitlab_session=", LOWER, 32, "GitLab: session cookie"),
    Token("bitbucket-token", "ATBB ATCTT3", PADDED, 32, "Bitbucket: app password, repository access token"),
    Token("npm-token", "npm_", ALNUM, 36, "npm: 30 random characters and a checksum of 6"),
    Token("pypi-token", "pypi-", URLSAFE, 50, "PyPI: a macaroon, AgEIcHlwaS5vcmc…"),
    Token("rubygems-key", "rubygems_", HEX, 48, "RubyGems: 48 hex"),
    Token("crates-token", "cio", ALNUM, 32, "crates.io: 32 letters and digits", exact=True),
    Token("nuget-key", "oy2", LOWER, 43, "NuGet: 43 letters and digits", exact=True),
    Token("clojars-token", "CLOJARS_ clojars_", ALNUM, 60, "Clojars: 60 letters and digits"),
    Token("docker-token", "dckr_pat_ dckr_oat_", URLSAFE, 20, "Docker Hub: 27 or 32 characters"),
    Token("artifactory-key", "AKCp", ALNUM, 69, "Artifactory: API key, 69 letters and digits"),
    Token("artifactory-key", "cmVmd", ALNUM, 59, "Artifactory: reference token, 59 letters and digits"),
    Token("circleci-token", "CCIPAT_ CCIPRJ_", WORD, 40, "CircleCI: personal, project"),
    Token("buildkite-token", "bkua_ bkct_ bkt_", ALNUM, 32, "Buildkite: 40 hex"),
    Token("harness-token", "pat. sat.", DOTTED, 68, "Harness: 22 . 24 . 20"),
    Token("octopus-key", "API-", UPPER, 26, "Octopus Deploy: 26 capitals and digits", exact=True),
    Token("sonar-token", "squ_ sqp_ sqa_", LOWER, 40, "SonarQube: 40 hex"),
    Token("sourcegraph-token", "sgp_", WORD, 40, "Sourcegraph: 40 hex, or an instance id _ 40 hex"),
    Token("codecov-token", "codecov_", URLSAFE, 32, "Codecov"),
    Token("snyk-token", "snyk_uat. snyk_sat.", DOTTED, 40, "Snyk: user and service tokens"),
    Token("postman-key", "PMAK-", URLSAFE, 59, "Postman: 24 hex - 34 hex"),
    Token("readme-key", "rdme_", LOWER, 70, "ReadMe: 70 letters and digits"),
    Token("trigger-key", "tr_prod_ tr_dev_ tr_stg_ tr_preview_", ALNUM, 20, "Trigger.dev: 20 letters and digits"),
    Token("inngest-key", "signkey-prod- signkey-test- signkey-branch-", HEX, 32, "Inngest: signing key, hex"),
    Token("dbt-token", "dbtu_ dbtc_", URLSAFE, 40, "dbt Cloud: 52 characters"),
    # clouds and hosts
    Token("aws-key-id", "AKIA ASIA ABIA ACCA", UPPER, 16, "AWS: long-term and temporary key ids", exact=True),
    Token("aws-bedrock-key", "ABSK", BASE64, 109, "AWS Bedrock: long-lived key"),
    Token("aws-bedrock-key", "bedrock-api-key-", BASE64, 28, "AWS Bedrock: short-lived key"),
    Token("google-api-key", "AIza", URLSAFE, 35, "Google: 39 characters in all", exact=True),
    Token("google-api-key", "AQ.", URLSAFE, 40, "Google: Gemini, about 50 characters"),
    Token("google-oauth", "ya29.", DOTTED, 20, "Google: OAuth access token"),
    Token("google-oauth", "GOCSPX-", URLSAFE, 24, "Google: OAuth client secret, 28 characters"),
    Token("alibaba-key-id", "LTAI", ALNUM, 20, "Alibaba Cloud: 20 letters and digits", exact=True),
    Token("tencent-key-id", "AKID", ALNUM, 32, "Tencent Cloud: 32 letters and digits", exact=True),
    Token("yandex-key", "AQVN", URLSAFE, 35, "Yandex Cloud: API key"),
    Token("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", HEX, 40, "DigitalOcean: 64 hex"),
    Token("heroku-key", "HRKU-", URLSAFE, 36, "Heroku: AA and 58, or a UUID"),
    Token("vercel-token", "vcp_ vci_ vca_ vcr_ vck_", ALNUM, 24, "Vercel: personal, integration, app, AI gateway"),
    Token("netlify-token", "nfp_ nfc_ nfo_ nfu_", ALNUM, 36, "Netlify: 36 letters and digits"),
    Token("fly-token", "fo1_", URLSAFE, 43, "Fly.io: 43 characters"),
    Token("fly-token", "fm1a_ fm1r_ fm2_", BASE64, 100, "Fly.io: macaroon"),
    Token("render-key", "rnd_", ALNUM, 28, "Render: 32 letters and digits"),
    Token("neon-key", "napi_", LOWER, 60, "Neon: 64 letters and digits"),
    Token("scalingo-token", "tk-us-", URLSAFE, 48, "Scalingo: 48 characters"),
    Token("pulumi-token", "pul-", HEX, 40, "Pulumi: 40 hex", exact=True),
    Token("doppler-token", "dp.pt. dp.ct. dp.sa. dp.scim. dp.audit.", ALNUM, 40, "Doppler: 40 to 44 characters"),
    Token("doppler-token", "dp.st.", DOTTED, 40, "Doppler: service token, its environment . 40"),
    Token("vault-token", "hvs. hvb. hvr.", URLSAFE, 24, "HashiCorp Vault: service and batch tokens"),
    Token(
        "tailscale-key",
        "tskey-auth- tskey-api- tskey-client- tskey-scim- tskey-webhook-",
        URLSAFE,
        16,
        "Tailscale: auth, API and OAuth keys",
    ),
    Token("infracost-key", "ico-", ALNUM, 32, "Infracost: 32 letters and digits", exact=True),
    Token("prefect-key", "pnu_ pnb_", ALNUM, 36, "Prefect: 36 letters and digits"),
    Token("1password-token", "ops_eyJ", "[A-Za-z0-9+/=_-]", 100, "1Password: service account"),
    Token("clickhouse-key", "4b1d", ALNUM, 38, "ClickHouse Cloud: 38 letters and digits", exact=True),
    Token("databricks-token", "dapi", HEX, 32, "Databricks: 32 hex", exact=True),
    Token("planetscale-token", "pscale_tkn_ pscale_oauth_ pscale_pw_", DOTTED, 32, "PlanetScale: 32 to 64 characters"),
    Token("supabase-token", "sbp_", ALNUM, 20, "Supabase: personal access token"),
    Token("supabase-token", "sb_secret_", URLSAFE, 20, "Supabase: secret key"),
    Token("cloudflare-token", "cfut_ cfat_ cfk_", URLSAFE, 32, "Cloudflare: user, account and global keys"),
    Token("cloudflare-token", "v1.0-", GROUPS, 171, "Cloudflare: origin CA key, 24 hex - 146 hex"),
    Token("openshift-token", "sha256~", URLSAFE, 43, "OpenShift: 43 characters", exact=True),
    Token("defined-networking-key", "dnkey-", PADDED, 79, "Defined Networking: 26 - 52 characters"),
    Token("vercel-token", "vercel_blob_rw_", WORD, 40, "Vercel: blob store, 16 _ 30"),
    Token("turnstile-key", "0x4AAAAAAA", URLSAFE, 24, "Cloudflare Turnstile: secret key"),
    Token("mongodb-secret", "mdb_sa_sk_", URLSAFE, 32, "MongoDB Atlas: service account, 40 characters"),
    Token("aws-mws-token", "amzn.mws.", GROUPS, 36, "Amazon MWS: a UUID"),
    Token("wallet-key", "xprv yprv zprv", ALNUM, 100, "extended private key, 107 letters and digits"),
    Token("swarm-token", "SWMTKN-1-", "[a-z0-9-]", 70, "Docker Swarm: join token, 50 - 25"),
    Token("ory-token", "ory_pat_ ory_apikey_ ory_at_ ory_rt_ ory_st_ ory_wak_", DOTTED, 24, "Ory"),
    Token("stytch-secret", "secret-live- secret-test-", PADDED, 36, "Stytch: 36 characters and more"),
    Token("yandex-token", "y0_ y1_ y2_ y3_", URLSAFE, 50, "Yandex: OAuth, 55 characters and more"),
    Token("nostr-key", "nsec1", LOWER, 58, "Nostr: private key, 58 characters", exact=True),
    # money and shops
    Token("razorpay-key", "rzp_live_ rzp_test_", ALNUM, 14, "Razorpay: 14 letters and digits", exact=True),
    Token("brex-token", "bxt_", ALNUM, 32, "Brex: 40 letters and digits"),
    Token("woocommerce-key", "ck_ cs_", HEX, 40, "WooCommerce: 40 hex", exact=True),
    Token("paddle-key", "pdl_live_apikey_ pdl_sdbx_apikey_", WORD, 40, "Paddle: 26 _ 22 _ 3"),
    Token("polar-token", "polar_oat_ polar_pat_", ALNUM, 40, "Polar: 43 letters and digits"),
    Token("stripe-key", "sk_live_ rk_live_ sk_test_ rk_test_ sk_prod_ rk_prod_", ALNUM, 10, "Stripe: secret keys"),
    Token("stripe-key", "whsec_", BASE64, 20, "Stripe: webhook signing secret"),
    Token("shopify-token", "shpat_ shpca_ shppa_ shpss_ shpua_", ANYHEX, 32, "Shopify: 32 hex"),
    Token("square-token", "EAAA", URLSAFE, 22, "Square: access token, 60 characters"),
    Token("square-token", "sq0atp- sq0csp-", URLSAFE, 22, "Square: 22 or 43 characters"),
    Token("flutterwave-key", "FLWSECK_TEST- FLWPUBK_TEST- FLWSECK-", ALNUM, 12, "Flutterwave: 12 or 32 characters"),
    Token("plaid-token", "access-sandbox- access-development- access-production-", GROUPS, 36, "Plaid: a UUID"),
    Token("duffel-token", "duffel_test_ duffel_live_", PADDED, 43, "Duffel: 43 characters"),
    Token("easypost-key", "EZAK EZTK", ALNUM, 54, "EasyPost: 54 letters and digits", exact=True),
    Token("shippo-token", "shippo_live_ shippo_test_", ANYHEX, 40, "Shippo: 40 hex"),
    # messages and offices
    Token("slack-token", "xoxe-1- xoxd-", "[A-Za-z0-9+/%=-]", 40, "Slack: refresh token, session cookie"),
    Token("slack-token", "xoxb- xoxc- xoxe- xoxp- xoxs- xoxo- xapp-", DASHED, 15, "Slack: bot, user, app, …"),
    Token("slack-token", "xoxa- xoxr-", DASHED, 10, "Slack: older workspace tokens"),
    Token("slack-token", "xoxe.xoxb- xoxe.xoxp-", DASHED, 100, "Slack: configuration token"),
    Token("sendinblue-key", "xkeysib- xsmtpsib-", DASHED, 81, "Brevo: 64 hex - 16"),
    Token("mailgun-key", "key- pubkey-", HEX, 32, "Mailgun: 32 hex", exact=True),
    Token("twilio-key", "SK", ANYHEX, 32, "Twilio: 32 hex", exact=True),
    Token("hubspot-token", "pat-na1- pat-na2- pat-eu1- pat-ap1-", "[A-Fa-f0-9-]", 36, "HubSpot: a UUID"),
    Token("intercom-token", "dG9rO", BASE64, 55, "Intercom: base64 of tok:"),
    Token("notion-token", "ntn_", ALNUM, 43, "Notion: 46 letters and digits"),
    Token("notion-token", "secret_", ALNUM, 43, "Notion: 43 letters and digits", exact=True),
    Token("linear-key", "lin_api_ lin_oauth_", ALNUM, 32, "Linear: 40 letters and digits"),
    Token("atlassian-token", "ATATT3", PADDED, 100, "Atlassian: 186 characters and more"),
    Token("contentful-token", "CFPAT-", URLSAFE, 43, "Contentful: 43 characters"),
    Token("typeform-token", "tfp_", DOTTED, 44, "Typeform: 44 to 59 characters"),
    Token("figma-token", "figd_ figu_", URLSAFE, 32, "Figma: 40 characters"),
    Token("frameio-token", "fio-u-", PADDED, 64, "Frame.io: 64 characters"),
    Token("adobe-secret", "p8e-", URLSAFE, 32, "Adobe: client secret, 32 characters"),
    Token("dropbox-token", "sl.u. sl.", PADDED, 100, "Dropbox: short-lived, 135 characters and more"),
    Token("facebook-token", "EAAM EAAC EAAB EAAG", ALNUM, 80, "Facebook: page and user tokens"),
    Token("facebook-token", "EAA", ALNUM, 100, "Facebook: tokens of other apps, 100 to 250 letters and digits"),
    Token("onesignal-key", "os_v2_app_ os_v2_org_", LOWER, 60, "OneSignal: 104 letters and digits"),
    Token("klaviyo-key", "pk_", HEX, 34, "Klaviyo: private key, 34 hex", exact=True),
    Token("intra42-secret", "s-s4t2ud- s-s4t2af-", HEX, 64, "42: 64 hex"),
    Token("settlemint-token", "sm_aat_ sm_pat_ sm_sat_", ALNUM, 16, "SettleMint: 16 letters and digits"),
    Token("mailersend-token", "mlsn.", HEX, 64, "MailerSend: 64 hex"),
    Token("trello-token", "ATTA", ANYHEX, 64, "Trello: 72 hex"),
    Token("sanity-token", "sk", ALNUM, 150, "Sanity: 178 letters and digits"),
    # observability and features
    Token("honeycomb-key", "hcaik_ hcbik_ hcxik_", LOWER, 50, "Honeycomb: 58 letters and digits"),
    Token("axiom-token", "xaat- xapt-", GROUPS, 36, "Axiom: a UUID"),
    Token("statsig-key", "secret-", ALNUM, 43, "Statsig: 43 letters and digits", exact=True),
    Token("grafana-token", "glc_", BASE64, 32, "Grafana Cloud"),
    Token("grafana-token", "glsa_", WORD, 41, "Grafana: service account, 32 _ 8 hex"),
    Token("newrelic-key", "NRAK- NRII- NRRA- NRJS-", URLSAFE, 19, "New Relic: user, insert, REST, browser"),
    Token("sentry-token", "sntrys_", "[A-Za-z0-9+/=_]", 40, "Sentry: organisation"),
    Token("sentry-token", "sntryu_", HEX, 64, "Sentry: user, 64 hex"),
    Token("dynatrace-token", "dt0c01. dt0s01. dt0s02. dt0s16.", "[A-Za-z0-9.]", 80, "Dynatrace: 24 . 64"),
    Token("posthog-key", "phx_", WORD, 40, "PostHog: personal key, 43 characters"),
    Token("launchdarkly-key", "sdk- api-", GROUPS, 36, "LaunchDarkly: a UUID", exact=True),
    Token("age-key", "AGE-SECRET-KEY-1", UPPER, 50, "age: 58 characters"),
    Token("jwt", "ZXlK", "[A-Za-z0-9+/=_-]", 60, "JSON Web Token in base64"),
    # last, because it would match the beginning of others
    Token("openai-key", "sk-", ALNUM, 20, "OpenAI and compatible: sk- and 20 to 50 letters and digits"),
)

# Without it, an engine would restart its count at each character of a run.
_RUN_START: Final = r"(?:^|[^A-Za-z0-9]|\\[nrt])"
# Azure ends its keys with a mark of the service and a checksum.
_AZURE_MARKS: Final = "[+]ASt|[+]ABa|[+]AMC|[+]ASb|[+]AEh|[+]ARm|[+]ACR|ACDb|AIoT|AzSe|AzCa|AZEG"
_DISCORD_ID: Final = "|".join(rf"(?<=[MNO][\w-]{{{length}}}\.)" for length in range(22, 28))

# Kinds of several parts.
SHAPES: Final = (
    Rule("1password-key", "A3-[A-Z0-9]{6}-", fresh("A3-") + r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})"
         r"(?:-[A-Z0-9]{5}){3}(?!\w)", "1Password: secret key, A3- and 31 or 32 capitals and digits", ("A3-",)),
    Rule("airtable-token", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{12}", fresh("pat") + r"[A-Za-z0-9]{14}\.[a-f0-9]{64}",
         "Airtable: 14 . 64 hex", ("pat",)),
    Rule("authress-key", r"\.acc[_-][A-Za-z0-9-]{10}", r"\b(?:sc|ext|scauth|authress)_[A-Za-z0-9]{5,30}"
         r"\.[A-Za-z0-9]{4,6}\.acc[_-][A-Za-z0-9-]{10,32}\.[A-Za-z0-9+/_=-]{30,}",
         "Authress: service client", (".acc",), broken=True),
    Rule("azure-key", r"(?:JQQJ99|AzFu)[\w-]{6}",
         r"(?<!\w)(?:[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{22,26}|[\w-]{44}AzFu[\w-]{6}==)",
         "Azure: 52 JQQJ99 26, or 44 AzFu 6", ("JQQJ99", "AzFu")),
    Rule("azure-key", f"(?:{_AZURE_MARKS})[A-Za-z0-9+/]{{6}}",
         rf"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{{32,80}}(?:{_AZURE_MARKS})[A-Za-z0-9+/]{{6}}={{0,2}}(?![\w+/=])",
         "or 32 to 80, a mark of the service (+ASt, AzSe, …) and 6",
         tuple(_AZURE_MARKS.replace("[+]", "+").split("|")), broken=True),
    Rule("azure-devops-token", "AZDO[A-Za-z0-9]{4}", r"(?<!\w)[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}(?!\w)",
         "Azure DevOps: 76 AZDO 4", ("AZDO",)),
    Rule("salesforce-token", r"00D[A-Za-z0-9]{12,15}![A-Za-z0-9]", fresh("00D") + r"[A-Za-z0-9]{12,15}![\w.-]{80,}",
         "Salesforce: the organisation's id ! 90 characters and more", ("00D",), broken=True),
    Rule("twitter-token", "A{20}[A-Za-z0-9%]{40}",
         r"(?<![\w+/%-])A{20,22}(?=[A-Za-z0-9%]{0,40}[0-9])(?!A)[A-Za-z0-9%]{50,100}(?![\w+/=%])",
         "Twitter: bearer token, 20 to 22 A and 50 to 100 characters", ("A" * 20,), broken=True),
    Rule("ngrok-token", f"{_RUN_START}[12][A-Za-z0-9]{{26}}_",
         r"(?<![\w-])(?=[a-zA-Z0-9]{0,26}[A-Z])[12][A-Za-z0-9]{26}_[A-Za-z0-9]{21,23}(?![\w-])",
         "ngrok: 27 _ 21 letters and digits", ("_",)),
    Rule("wallet-key", f"{_RUN_START}(?:5[HJK]|[KL][1-5x-z])[1-9A-HJ-NP-Za-km-z]{{40}}",
         r"(?<![\w+/=-])(?:5[HJK][1-9A-HJ-NP-Za-km-z]{49}|[KL][1-5x-z][1-9A-HJ-NP-Za-km-z]{50})(?![\w+/=-])",
         "Bitcoin: private key, 51 or 52 characters"),
    Rule("braintree-token", "access_token[$][a-z]",
         r"(?<!\w)access_token[$](?:production|sandbox)[$][a-z0-9]{16}[$][a-f0-9]{32}",
         "Braintree: access_token $ 16 $ 32 hex", ("access_token$",), broken=True),
    Rule("adyen-key", "AQE[A-Za-z0-9+/]{16}",
         fresh("AQE") + r"[A-Za-z0-9+/]{90,}-[A-Za-z0-9+/]{40,50}=?=?-[A-Za-z0-9]{16}",
         "Adyen: two parts in base64 and 16", ("AQE",), broken=True),
    Rule("newrelic-key", "NRAL",
         r"(?<!\w)[a-z0-9]{6}[a-fA-F0-9]{26,34}NRAL(?!\w)",
         "New Relic: licence key, 36 and NRAL", ("NRAL",)),
    Rule("google-oauth", r"1(?://|%2F%2F)0[\w-]{20}", r"(?<![\w/])1(?://|%2F%2F)0[\w-]{40,}", "Google: refresh token",
         ("1//0", "1%2F%2F0"), broken=True),
    Rule("firebase-key", "APA91b[A-Za-z0-9_-]{20}", r"(?<!\w)[\w-]{11,40}(?::|%3A)APA91b[\w-]{100,}",
         "Firebase: server key, :APA91b", ("APA91b",)),
    Rule("infisical-token", r"\.[a-f0-9]{32}\.[a-f0-9]{32}",
         fresh("st[.]") + r"[a-f0-9]{24}\.[a-f0-9]{32}\.[a-f0-9]{32}",
         "Infisical: 24 . 32 . 32 hex", ("st.",), broken=True),
    Rule("bitwarden-token", r"0\.[a-f0-9]{8}-[a-f0-9]{4}-",
         fresh("0[.]") + r"[a-f0-9-]{36}\.[A-Za-z0-9]{30}:[A-Za-z0-9+/]{22}==",
         "Bitwarden: 0 . a UUID . 30 : 24", ("0.",), broken=True),
    Rule("asana-token", "[0-9](?::|%3A)[a-f0-9]{32}",
         r"(?<![\w/])(?:2(?:/|%2F)[0-9]{15,17}|[01])(?:/|%2F)[0-9]{15,17}"
         r"(?::|%3A)[a-f0-9]{32}(?!\w)", "Asana: the user's id and 32 hex", ("/", "%2F")),
    Rule("clickup-token", "pk_[0-9]{6,10}_[A-Z0-9]{32}", fresh("pk_") + "[0-9]{6,10}_[A-Z0-9]{32}(?!\\w)",
         "ClickUp: id _ 32",
         ("pk_",)),
    Rule("k3s-token", "K10[a-f0-9]{64}::", fresh("K10") + "[a-f0-9]{64}::[a-z]{3,10}:[a-f0-9.]{16,}",
         "K3s: 64 hex :: user : 32 hex",
         ("K10",)),
    Rule("laravel-key", "base64:[A-Za-z0-9+/]{12}", r"(?<![\w;,])base64:[A-Za-z0-9+/]{43}=(?![\w=])",
         "Laravel: 32 bytes in base64",
         ("base64:",), broken=True),
    Rule("hash-pair", "[a-fA-F0-9]:[a-fA-F0-9]{32}", r"(?<![\w-])[a-fA-F0-9]{32}:[a-fA-F0-9]{32}(?!\w)",
         "LM and NT hash of a password",
         (":",)),
    Rule("password-hash", r"\$(?:[156y]|apr1|2[aby])\$[\w./$=]{12}",
         r"\$(?:[156y]|apr1|2[aby])\$(?=[^$\s]{0,64}[$./0-9A-Z])[\w./$=,]{20,}",
         "crypt: $6$ salt $ hash, $2b$, $apr1$, …",
         ("$6$", "$5$", "$1$", "$y$", "$apr1$", "$2a$", "$2b$", "$2y$"), broken=True),
    Rule("azure-secret", r"[0-9]Q~[\w~.-]{12}", r"(?<![\w~.-])[\w~.]{3}[0-9]Q~[\w~.-]{31,34}(?![\w~-])",
         "Azure AD: 3 characters, digit, Q~ and 31 to 34", ("Q~",), broken=True),
    Rule("terraform-token", r"\.atlasv1\.", r"(?<!\w)[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,}",
         "Terraform Cloud: 14 .atlasv1. 60 to 70", (".atlasv1.",), broken=True),
    Rule("maxmind-key", "[A-Za-z0-9]_mmk", r"(?<![A-Za-z0-9])[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk(?!\w)",
         "MaxMind: 6 _ 29 _mmk", ("_mmk",)),
    Rule("mailchimp-key", "[a-f0-9]{12}-us[0-9]", r"(?<!\w)[a-f0-9]{32}-us[0-9]{1,2}(?!\w)",
         "Mailchimp: 32 hex and a data centre", ("-us",)),
    Rule("resend-key", "re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20}", fresh("re_") + "[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}",
         "Resend: 8 _ 24 letters and digits", ("re_",)),
    Rule("mapbox-token", r"[ps]k\.[A-Za-z0-9]{12}",
         rf"(?:{fresh('pk[.]')}|{fresh('sk[.]')})[A-Za-z0-9]{{60,}}\.[\w-]{{20,}}", "Mapbox: 60 . 22", ("k.",)),
    Rule("yandex-token", r"t1\.[\w=-]{12}", fresh("t1[.]") + r"[\w-]{12,200}={0,2}\.[\w-]{86}={0,2}",
         "Yandex Cloud: IAM token", ("t1.",), broken=True),
    Rule("vault-token", r"s\.[A-Za-z0-9]{24}",
         fresh("s[.]") + r"(?=[A-Za-z0-9]{0,22}[0-9][A-Za-z]{0,22}[0-9])[A-Za-z0-9]{24}(?![\w(.])",
         "HashiCorp Vault: older service token, s. and 24", ("s.",)),
    Rule("facebook-token", r"[0-9]{15}[|%][\w-]{12}", r"(?<!\w)[0-9]{15,16}[|%][\w-]{27,40}(?![\w-])",
         "Facebook: the app's id and its token", ("|", "%")),
    Rule("sendgrid-key", r"SG\.[\w-]{12}", r"SG\.[\w-]{20,40}\.[\w-]{30,}", "SendGrid: 22 . 43 characters", ("SG.",)),
    Rule("telegram-token", r"[0-9]:AA[\w-]{12}", r"(:)AA(?<=[0-9]{8}:AA)[\w-]{32,}",
         "Telegram: the bot's id, :AA and 33", (":AA",)),
    Rule("grafana-token", "eyJrIjoi[A-Za-z0-9]{12}", fresh("eyJrIjoi") + "[A-Za-z0-9]{50,}={0,3}",
         "Grafana: older API key", ("eyJrIjoi",)),
    Rule("jwt", r"eyJ[\w-]{17}", fresh("eyJ") + r"[\w-]{17,}+\.[\w-]{10,}+(?:\.[\w-]{4,}+){1,3}",
         'JSON Web Token: eyJ is the base64 of {"', ("eyJ",)),
    Rule("discord-token", r"\.[\w-]{6}\.[\w-]{27}",
         rf"(\.)(?![a-z_]{{6}})(?=[\w-]{{6}}\.[\w-]{{27}})(?:{_DISCORD_ID})[\w-]{{6}}\.[\w-]{{27,}}",
         "Discord: the bot's id in base64 . time . 27 or 38 characters"),
)  # fmt: skip

# Kinds that are recognised by a URL around them.
# The name of a user may be an address: `https://me@corp.example:…@host`.
_URL: Final = (
    r"(:(?://|\\{1,3}/\\{1,3}/)([^\s/:@\[{\"'`<>\\]*+(?:@[\w.-]{1,64})?):)(?!\[REDACTED:|\{|\$[A-Za-z_{(]|%[sd(]|(?:\*{1,64}|x{1,64}|\.{3}|\2"
    r"|[pP]ass(?:w(?:or)?d)?|PASS(?:W(?:OR)?D)?|secret|pwd?|changeme)@)"
    r"(?:[^\s/?#\"'`<>\\]+(?:#[^\s/?#@\"'`<>\\]{0,64})?|#[^\s/?#@\"'`<>\\]{1,64})(?=@[\w\[{$%.-])"
)
_HOOKS: Final = (
    r"(?:hooks\.zapier\.com/hooks/catch/[0-9]{4,12}/|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook/"
    r"|qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=)"
)
_SIGNED: Final = "(?:[?&;](?:X-Amz-Signature|X-Goog-Signature|[sS]ignature|sig)=)"
IN_URLS: Final = (
    Rule("webhook", _HOOKS, rf"({_HOOKS})[\w-]{{6,}}", "Zapier, Feishu, Lark, WeCom: incoming webhook URL",
         ("hooks.zapier.com", "open.feishu.cn", "open.larksuite.com", "qyapi.weixin.qq.com"), broken=True),
    Rule("url-signature", _SIGNED, rf"({_SIGNED})(?!\[REDACTED:)[\w%.~+/-]{{20,}}",
         "signed URL: `sig=`, `X-Amz-Signature=`, …",
         ("ignature=", "&sig=", "?sig="), broken=True),
    Rule("slack-webhook", r"hooks\.slack\.com/\w+/", r"(hooks\.slack\.com/\w+/)(?![\w/]{0,24}[xX]{16})[\w/+-]{20,}",
         "Slack: incoming webhook URL", ("hooks.slack.com",), broken=True),
    Rule("teams-webhook", r"webhook\.office\.com/", r"(webhook\.office\.com/webhookb2/)[\w@/-]{60,}",
         "Microsoft Teams: incoming webhook URL", ("webhook.office.com",), broken=True),
    Rule("discord-webhook", "/api/webhooks/[0-9]", r"(/api/webhooks/[0-9]{10,24}/)[\w-]{30,}", "Discord: webhook URL",
         ("/api/webhooks/",), broken=True),
    Rule("url-password", r":(?://|\\+/\\+/)[^\s/:@\[\"'`<>\\]*(?:@[\w.-]+)?:[^\s/?\"'`<>\\]+@", _URL,
         "user:password@host; only the password is replaced", ("://", ":\\"), broken=True),
    Rule("url-password", r"://[\w-]{20}",
         rf"(://)(?=[a-zA-Z_-]{{0,60}}[0-9]){NO_EXAMPLE}[\w-]{{20,200}}+(?=(?::[\w-]{{0,40}})?@[\w\[{{$%.-])",
         "a token as the user: https://…@host", ("://",), broken=True),
)  # fmt: skip

# A block may contain anything, so it is matched first.
PEM: Final = Rule(
    "private-key",
    "PRIVATE KEY(?: BLOCK)?-----",
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    # then a line of base64, or enough of it after headers: a mere mention of the first line is not a block
    r"(?=(?:[ \t\r]{0,8}(?:\n|\\{1,8}[nr])){1,4}[^A-Za-z\n]{0,12}[A-Za-z0-9+/=]++(?:[\r\n\"'`\\]|\Z)"
    r"|(?:[^\[]|\[(?!REDACTED:)){0,160}?[A-Za-z0-9+/]{40})"
    r"[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
    "PEM block, whole or cut off, with real or escaped line ends",
    ("PRIVATE KEY",),
    broken=True,
)

# In the order in which they are applied. The last token would match the beginning of others; a shape may contain what
# looks like a token; a webhook contains a password of a URL.
RULES: Final = (PEM, *(token.rule() for token in TOKENS[:-1]), *SHAPES, TOKENS[-1].rule(), *IN_URLS)
