"""Redaction: every kind of secret is replaced, ordinary text stays, and a second pass changes nothing.

The samples are assembled at run time from harmless parts, so that no scanner reports them as real.
"""

import copy
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.formats.redact.forms import FORMS
from katod.formats.redact.redactor import redact, redact_json
from katod.formats.redact.rules import RULES
from tests.examples import texts
from tests.looping import each

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def body(length, alphabet=LETTERS):
    """Return characters that look random but are the same in every run."""
    return "".join(random.Random(length).choices(alphabet, k=length - 1)) + "7"


def pem(kind, inner):
    """Return a private-key block of that kind."""
    return f"-----BEGIN {kind}" + "PRIVATE KEY-----\n" + inner + f"\n-----END {kind}" + "PRIVATE KEY-----"


HEX = "0123456789abcdef"
URLSAFE = LETTERS + "_-"
BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

# rule, text before the secret that is kept, the secret
SAMPLES = [
    ("anthropic-key", "", "sk-" + "ant-" + "api03-" + body(93, URLSAFE) + "AA"),
    ("anthropic-key", "", "sk-" + "ant-" + "oat01-" + body(93, URLSAFE) + "AA"),
    ("openrouter-key", "", "sk-" + "or-" + "v1-" + body(64, HEX)),
    ("openai-key", "", "sk-" + body(48)),
    ("openai-key", "", "sk-" + body(32, HEX)),
    ("openai-key", "", "sk-" + "proj-" + body(120, URLSAFE)),
    ("openai-key", "", "sk-" + "svcacct-" + body(120, URLSAFE)),
    *(("github-token", "", f"gh{kind}" + "_" + body(36)) for kind in "pousr"),
    ("github-token", "", "github" + "_pat_" + body(22) + "_" + body(59)),
    ("gitlab-token", "", "gl" + "pat-" + body(20, URLSAFE)),
    *(("slack-token", "", f"xox{kind}" + "-" + "123456789012-123456789012-" + body(24)) for kind in "abprs"),
    ("slack-token", "", "xapp" + "-1-" + "A0123456789-1234567890123-" + body(64, HEX)),
    ("slack-webhook", "https://hooks.slack.com/services/", "T0123ABCD/" + "B0123ABCD/" + body(24)),
    ("aws-key-id", "", "AK" + "IA" + body(16, BASE32)),
    ("aws-key-id", "", "AS" + "IA" + body(16, BASE32)),
    ("google-api-key", "", "AI" + "za" + body(35, URLSAFE)),
    ("google-oauth", "", "ya" + "29." + body(80, URLSAFE)),
    ("google-oauth", "", "GOC" + "SPX-" + body(28, URLSAFE)),
    ("huggingface-token", "", "h" + "f_" + body(34)),
    ("npm-token", "", "npm" + "_" + body(36)),
    ("pypi-token", "", "pypi" + "-" + "AgEIcHlwaS5vcmc" + body(120, URLSAFE)),
    ("stripe-key", "", "sk" + "_live_" + body(24)),
    ("stripe-key", "", "rk" + "_live_" + body(99)),
    ("stripe-key", "", "wh" + "sec_" + body(32)),
    ("supabase-token", "", "sb" + "p_" + body(40, HEX)),
    ("supabase-token", "", "sb" + "_secret_" + body(31, URLSAFE)),
    ("groq-key", "", "gs" + "k_" + body(52)),
    ("xai-key", "", "xa" + "i-" + body(80)),
    ("perplexity-key", "", "ppl" + "x-" + body(48)),
    ("digitalocean-token", "", "do" + "p_v1_" + body(64, HEX)),
    ("shopify-token", "", "shp" + "at_" + body(32, HEX)),
    ("vault-token", "", "hv" + "s." + body(90, URLSAFE)),
    ("docker-token", "", "dckr" + "_pat_" + body(27, URLSAFE)),
    ("linear-key", "", "lin" + "_api_" + body(40)),
    ("figma-token", "", "fig" + "d_" + body(40, URLSAFE)),
    ("age-key", "", "AGE-SECRET-" + "KEY-1" + body(58, BASE32)),
    ("telegram-token", "123456789:", "AA" + body(33, URLSAFE)),
    ("sendgrid-key", "", "SG" + "." + body(22, URLSAFE) + "." + body(43, URLSAFE)),
    ("discord-token", "MTk4NjIyNDgzNDcxOTI1MjQ4.", "Cl2FMQ" + "." + body(27, URLSAFE)),
    ("discord-token", "MTA5ODc2NTQzMjEwOTg3NjU0MA.", "GnXy3k" + "." + body(38, URLSAFE)),
    ("discord-webhook", "https://discord.com/api/webhooks/123456789012345678/", body(68, URLSAFE)),
    ("jwt", "", "eyJ" + "hbGciOiJIUzI1NiJ9" + ".eyJ" + body(40, URLSAFE) + "." + body(43, URLSAFE)),
    ("private-key", "", "-----BEGIN " + "PRIVATE KEY-----\n" + body(64) + "\n-----END " + "PRIVATE KEY-----"),
]
IDS = [f"{number}-{name}" for number, (name, _, _) in enumerate(SAMPLES)]
PLACES = [
    "{}",
    "I found {} in your history, please revoke it",
    "Use {}.",
    "(see {}), then go on",
    "Is it {}?",
    "it was {}; now `{}` and **{}**!",
    "$ export SOME_VAR={} && curl -sS https://example.org/\n",
    "$ SOME_VAR='{}' ./run.sh --verbose",
    "Übrigens — {} … fertig",
    "\x1b[01;31m{}\x1b[0m",
    "first\n{}\nlast",
]


@pytest.mark.fault("secrets")
@each("place", PLACES)
@each(("name", "stays", "secret"), SAMPLES, ids=IDS)
def test_each_kind_goes_from_prose_and_shell(name, stays, secret, place):
    """A secret is replaced by its rule's name wherever it appears, and nothing else changes."""
    text = place.replace("{}", stays + secret)
    assert redact(text) == place.replace("{}", f"{stays}[REDACTED:{name}]")


@each(("name", "stays", "secret"), SAMPLES, ids=IDS)
def test_each_kind_goes_from_json_text(name, stays, secret):
    """In JSON text with escapes, and in JSON nested in such JSON, secrets are replaced and the result still decodes."""
    value = {"note": f"got\n{stays}{secret}", "list": [stays + secret, f"a\t{stays}{secret}\nb"], "n": 1}
    gone = json.loads(json.dumps(value).replace(json.dumps(secret)[1:-1], f"[REDACTED:{name}]"))
    assert json.loads(redact(json.dumps(value))) == gone
    assert json.loads(json.loads(redact(json.dumps(json.dumps(value))))) == gone
    assert redact_json(value) == gone


HIDING = ["\x1b[m", "\x1b[01;31m\x1b[K", "\x1b]8;;x\x07", "\x00", "\x08", "\u202e", "\u200b", "\u00ad", "\ufeff"]


@pytest.mark.slow
@pytest.mark.fault("secrets")
@each("hiding", HIDING, ids=ascii)
@each(("name", "stays", "secret"), SAMPLES, ids=IDS)
def test_nothing_that_is_not_seen_hides_a_secret(name, stays, secret, hiding):
    """Colour codes within a token, control characters and zero-width characters do not prevent redaction."""
    for at in (2, len(secret) // 2, len(secret) - 1):
        done = redact(f"see {stays}{secret[:at]}{hiding}{secret[at:]} there")
        assert done in (f"see {stays}[REDACTED:{name}] there", f"see {stays}[REDACTED:{name}]")
    text = f"no {hiding} secret"
    assert redact(text) is text


@each(("name", "stays", "secret"), SAMPLES, ids=IDS)
def test_nothing_of_the_secret_is_left(name, stays, secret):
    """The placeholder is the same for every secret of a kind: it contains only the name of the rule."""
    assert redact(f"a {stays}{secret} b") == f"a {stays}[REDACTED:{name}] b"
    assert redact(f"a {stays}{secret} b {stays}{secret}").count(f"[REDACTED:{name}]") == 2


@each("kind", ["RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", "DSA ", ""])
@each("newline", ["\n", "\r\n", "\\n", "\\\\n", "\n    ", "\n+"])
def test_private_key_blocks_go_whole(kind, newline):
    """A PEM block is replaced as a whole, with newlines, escapes, indents or diff signs between its lines."""
    block = pem(kind, f"{body(64)}\n{body(64)}\n{body(20)}").replace("\n", newline)
    assert redact(f"key='{block}' # mine") == "key='[REDACTED:private-key]' # mine"


def test_cut_off_private_key_goes_to_the_end():
    """A block without its end marker is replaced up to the end of the text."""
    start = "-----BEGIN RSA " + "PRIVATE KEY-----\n"
    assert redact(f"cat id_rsa\n{start}MIIE") == "cat id_rsa\n[REDACTED:private-key]"
    assert redact(f"{start}{body(64)}\n{body(30)}\n[cut]\nmore") == "[REDACTED:private-key]"


def test_private_key_with_headers_and_line_numbers():
    """Headers of an encrypted key, PGP armour and the line numbers of a listing do not hide the block."""
    armour = pem("PGP ", f"Version: 2\n\n{body(64)}").replace("KEY-", "KEY BLOCK-")
    assert redact(f"{armour}!") == "[REDACTED:private-key]!"
    headers = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC," + body(32, HEX)
    assert redact(pem("RSA ", f"{headers}\n\n{body(64)}")) == "[REDACTED:private-key]"
    numbered = [f"     {number}\t{line}" for number, line in enumerate(pem("", body(64)).split("\n"))]
    assert redact("\n".join(numbered)) == "     0\t[REDACTED:private-key]"


@pytest.mark.parametrize(
    "text",
    [
        "A file that starts with `-----BEGIN " + "PRIVATE KEY-----` is a private key, so do not print it.",
        'if "-----BEGIN RSA ' + 'PRIVATE KEY-----" in text:\n    raise ValueError(text)\n',
        "-----BEGIN " + "PRIVATE KEY-----\n...\n-----END " + "PRIVATE KEY-----",
        "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----",
        "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUQ\n-----END CERTIFICATE-----",
    ],
)
def test_mention_of_a_block_stays(text):
    """Text about PEM, and public blocks, are unchanged."""
    assert redact(text) is text


@each(
    ("before", "after"),
    [
        ("Authorization: Bearer {}", ""),
        ("authorization: bearer {}", "\n"),
        ("curl -H 'Authorization: Bearer {}' https://example.org", None),
        ('curl -H "Authorization: token {}"', None),
        ("Proxy-Authorization: Basic {}", ""),
        ('{"Authorization": "Bearer {}", "n": 1}', None),
        ('{\\"Authorization\\": \\"Basic {}\\"}', None),
        ("headers['Authorization'] = f'Bot {}'", None),
        ('.header("Authorization", "Bearer {}")', None),
        ("HTTP_AUTHORIZATION=Bearer {}", ""),
        ("I sent Authorization: Bearer {}.", None),
    ],
)
def test_authorization_headers(before, after):
    """The credential of a header is replaced; the header's name and scheme stay."""
    text = before + (after or "")
    assert redact(text.replace("{}", body(30))) == text.replace("{}", "[REDACTED:authorization]")


@each(
    "text",
    [
        "Authorization: Bearer ${TOKEN}",
        "Authorization: Bearer $TOKEN",
        "Authorization: Bearer <token>",
        "Authorization: Bearer YOUR_ACCESS_TOKEN_HERE",
        "Authorization: Bearer {token}",
        "'Authorization': 'Bearer ' + self.token",
        "Authorization: Basic authentication is off",
        "the Authorization: Bearer scheme",
        "authorization, token and password are required",
    ],
)
def test_authorization_without_credential_stays(text):
    """Templates, placeholders and sentences about the header are unchanged."""
    assert redact(text) is text


@each(
    ("text", "done"),
    [
        ("https://user:hunter2@host", "https://user:{}@host"),
        ("https://user:hunter2@host.example/path?q=a@b", "https://user:{}@host.example/path?q=a@b"),
        ("postgres://app:p@ss@localhost:5432/db", "postgres://app:{}@localhost:5432/db"),
        ("DATABASE_URL=postgresql://postgres:postgres1@db/x", "DATABASE_URL=postgresql://postgres:{}@db/x"),
        ("redis://:s3cret@10.0.0.1:6379/0.", "redis://:{}@10.0.0.1:6379/0."),
        ('"url": "mongodb+srv://a:b1c2@c0.example.net"', '"url": "mongodb+srv://a:{}@c0.example.net"'),
        (
            "git clone https://oauth2:abc123@gitlab.com/x/y.git",
            "git clone https://oauth2:{}@gitlab.com/x/y.git",
        ),
        ("(amqp://guest:quests@[::1]:5672)", "(amqp://guest:{}@[::1]:5672)"),
    ],
)
def test_passwords_in_urls(text, done):
    """Only the password of a URL is replaced: user, host and path show which one it was."""
    assert redact(text) == done.format("[REDACTED:url-password]")


@each(
    "text",
    [
        "https://example.org/a:b@c",
        "http://localhost:8080/@vite/client",
        "see http://localhost:3000 or mail me@example.org",
        "ssh://git@github.com:22/x/y.git",
        "git@github.com:x/y.git",
        "user@host:~/dir",
        "https://user@host/path",
        "http://host:8080?mail=a@b.c",
        "https://user:${PASSWORD}@host",
        "https://{user}:{password}@host",
        "postgres://<user>:<password>@host/db",
        "https://user:****@host",
        "https://user:%s@host",
        "postgres://user:password@localhost:5432/mydb",
        "amqp://guest:guest@localhost:5672",
    ],
)
def test_urls_without_credentials_stay(text):
    """Ports, paths, user names without a password, templates, and defaults like guest:guest are not credentials."""
    assert redact(text) is text


def test_token_as_user_of_a_url():
    """A token used as the user of a URL is recognised by its prefix, and the rest of the URL stays."""
    token = "gh" + "p_" + body(36)
    assert redact(f"https://{token}@github.com/x") == "https://[REDACTED:github-token]@github.com/x"
    assert redact(f"https://x:{token}@github.com/x") == "https://x:[REDACTED:github-token]@github.com/x"


VALUE = "v9" + "Xq2Lr7Tz4Kw8Pm"
NAMED = [
    "password={}",
    "passwd = {}",
    "export DB_PASSWORD='{}'",
    "SMTP_PASS={}",
    'passphrase: "{}"',
    "API_KEY={}",
    "apikey: {}",
    "X-Api-Key: {}",
    "My API key: {}.",
    "apiKey: '{}',",
    'client_secret = "{}"',
    "AWS_SECRET_ACCESS_KEY={}",
    "aws_secret_access_key = {}\nregion = x",
    "SECRET_KEY_BASE={}",
    "TOKEN_2={}",
    '{"access_token": "{}", "expires_in": 3600}',
    '{\\"access_token\\": \\"{}\\"}',
    "{'private_key': '{}'}",
    "https://example.org/?token={}&page=2",
    "const token: string = '{}';",
    'const TOKEN: &str = "{}";',
    'token := "{}"',
    '"secret" => "{}"',
    'config["secret"] = "{}"',
    "os.environ['API_TOKEN'] = '{}'",
    'setItem("token", "{}")',
    "Server=db;User ID=sa;Password={};Encrypt=true",
    "//registry.example.org/:_authToken={}",
    'token = b"{}"',
    'if token == "{}":',
    "| token: {} |",
    "**Password:** x, secret={}!",
    "Authorization: {}",
    "my API_KEY is {}",
    "The api_key (`{}`) no longer works.",
    "| API_KEY | `{}` |",
    "│ API_KEY │ {} │",
    "- **API_KEY**: `{}`",
    "- name: API_KEY\n  value: {}",
    '{"name": "API_KEY", "value": "{}"}',
    'variable "api_token" {\n  default = "{}"',
    "process.env.API_KEY || '{}'",
    "apiKey: process.env.API_KEY ?? '{}',",
    'os.getenv("API_KEY", "{}")',
    'string apiKey { get; set; } = "{}";',
    '@"apiKey": @"{}"',
    '#define API_KEY "{}"',
    "gh secret set API_KEY --body {}",
    "https://example.org/?key={}&q=1",
]


@pytest.mark.fault("secrets")
@each("place", NAMED)
def test_random_values_after_telling_names(place):
    """A value that looks random is replaced after a name that suggests a secret; all else stays."""
    assert redact(place.replace("{}", VALUE)) == place.replace("{}", "[REDACTED:secret]")


@each("place", NAMED)
def test_random_values_in_long_text(place):
    """Long text is searched differently, but gives the same result wherever the name is in it."""
    prose = "It was taken for broken by an organization that kept no keyboards. " * 40
    text, done = (place.replace("{}", value) for value in (VALUE, "[REDACTED:secret]"))
    assert redact(f"{prose}\n{text}") == f"{prose}\n{done}"
    assert redact(f"{text}\n{prose}") == f"{done}\n{prose}"


@pytest.mark.parametrize("value", ["a/b+C3d" + "E4f/G5h+iJ6kL7==", "p@5s!w0rd" + "#X9%k^Zq", body(64, HEX), body(400)])
def test_values_of_many_alphabets(value):
    """Base64, hexadecimal, long values and passwords with special characters are replaced to their end."""
    assert redact(f'password: "{value}"') == 'password: "[REDACTED:secret]"'
    assert redact(f"PASSWORD={value} next") == "PASSWORD=[REDACTED:secret] next"


def test_pass_phrase_of_words():
    """Quoted words joined by hyphens are a pass phrase after `password`, but only a name after `token`."""
    assert redact('"password": "tall-Violet-mug-jumps"') == '"password": "[REDACTED:secret]"'
    text = '"token": "tall-Violet-mug-jumps", type="current-password"'
    assert redact(text) is text


@pytest.mark.fault("secrets")
@each(
    "text",
    [
        "std::token<Iterator> next = std::token{};",
        "token = next(tokens)",
        "token = get_token_v2_of_user(request, 12)",
        "def login(user: str, password: str) -> Token: ...",
        "password: string | undefined",
        "token: vscode.CancellationToken",
        "const token: CancellationTokenSource = makeIt();",
        'token = os.environ["GITHUB_TOKEN"]',
        "token = os.environ.get('X')",
        "apiKey: process.env.OPENAI_API_KEY,",
        "API_KEY=${OPENAI_API_KEY}",
        "API_KEY=$OPENAI_API_KEY_2024",
        'password = "${DB_PASSWORD_2}"',
        "token: ${{ secrets.GITHUB_TOKEN }}",
        'password="{{ vault_db_password_1 }}"',
        "api_key = <your-api-key-123>",
        "api_key: your-api-key-here-12345",
        "API_KEY=xxxxxxxxxxxxxxxxxxxxxxxx",
        "password=****************",
        'secret: "aaaaaaaaaaaaaaaaaaaaaaaa"',
        "password=changeme-please-12345",
        "SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "secret: /run/secrets/db_password_v2x9",
        "token_url: https://example.org/oauth2/v1/token?x=1a2b3c",
        "secret = https://example.org/a1b2c3d4e5f6",
        "token: 123456789012345678",
        "max_tokens: 4096, tokens=1a2b3c4d5e6f7g8h",
        "tokenizer = A1b2C3d4E5f6G7h8",
        "cache_key = A1b2C3d4E5f6G7h8",
        "primary key: A1b2C3d4E5f6G7h8",
        "for key, value in mapping.items(): secret.add(key)",
        'token_type = "refresh_token_grant"; secret="prod/db2/main"',
        "password = form.cleaned_data.password1",
        "password too short: use at least 12 characters, numbers1and2signs",
        '["password", "x-content-type-options"]',
        "token=short1",
        "secret keeper: self-explanatory",
    ],
)
def test_code_and_examples_after_telling_names_stay(text):
    """Identifiers, calls, lookups, types, templates, paths, counts and examples are not secrets."""
    assert redact(text) is text


@pytest.mark.fault("secrets")
@each(
    "text",
    [
        "",
        "a",
        "from sklearn import x  # pip install sk-learn, sk-learn-contrib-extras-and-more-of-it",
        "task-0123456789abcdef0123456789abcdef and disk-0123456789abcdef0123456789",
        "risk-adjusted-returns-over-time-2024-report-final-version",
        "commit 9035420aaf5bbd1a0e1b3c2d4e5f60718293a4b5",
        "550e8400-e29b-41d4-a716-446655440000",
        "sha256:" + body(64, HEX),
        "data:image/png;base64," + body(4000, LETTERS + "+/") + "==",
        "x" + "AK" + "IA" + body(16, BASE32) + " " + "AK" + "IA" + body(20, BASE32),
        "eyJ" + body(30) + " is base64 of JSON, not a token",
        "ghp" + "_short and npm" + "_config_registry and hf" + "_hub_download_of_a_very_long_name_indeed",
        "github" + "_pat_ and xox" + "b- and glpat" + "- and sk" + "-ant- are prefixes of tokens",
        "self.errors.some_long_attribute_name_of_the_object.another",
        "https://hooks.slack.com/services/ and https://discord.com/api/webhooks/",
        "12:34:56:AA:BB:CC:DD:EE",
        "MTIzNDU2Nzg5MDEyMzQ1Njc4.readme.this_is_a_long_identifier_with_dots",
        "-" * 500,
        "[REDACTED:github-token] password=[REDACTED:secret] https://u:[REDACTED:url-password]@h",
    ],
)
def test_ordinary_text_is_the_same_object(text):
    """Names, hashes, ids, images, bare prefixes and placeholders are unchanged, and no copy is made."""
    assert redact(text) is text


def test_lone_surrogates_do_no_harm():
    """Text that cannot be encoded, as JSON may contain, is redacted like any other."""
    token = "gh" + "p_" + body(36)
    assert (
        redact(f"\ud800 {token} \udfff password={VALUE}")
        == "\ud800 [REDACTED:github-token] \udfff password=[REDACTED:secret]"
    )


FORMED = [
    "mysql -u root -p{} shop",
    "curl -u me:{} https://example.org",
    "sshpass -p '{}' ssh host",
    "docker login -u me -p {} host",
    "machine h login me password {}\n",
    "db.example.org:5432:shop:app:{}\n",
    "Set-Cookie: session={}; Path=/",
    "tool --password {} --force",
    "ENV DB_PASSWORD {}\n",
    "export DB_PASSWORD={}\n",
    "<password>{}</password>",
    "datadog_app: '{}'",
    "Bearer {}",
    "CREATE USER 'a'@'%' IDENTIFIED BY '{}';",
    "echo '{}' | sudo -S id",
    "echo app:{} | chpasswd",
    "plink -pw {} host",
    "xfreerdp /u:me /p:{} /cert:ignore",
    "ssh-keygen -f id -N '{}'",
    "mc alias set local http://localhost:9000 me {}\n",
    'smtp.login("me@example.org", "{}")',
    "requirepass {}\n",
    'ConvertTo-SecureString "{}" -AsPlainText',
    "the password for me is {}\n",
]


@pytest.mark.fault("secrets")
@each("place", FORMED)
def test_passwords_in_commands_and_files(place):
    """The options, files and headers in which passwords stand in a terminal are known; all else stays."""
    done = redact(place.replace("{}", VALUE))
    before, after = place.split("{}")
    assert done.startswith(f"{before}[REDACTED:")
    assert done.endswith(f"]{after}")
    assert VALUE[-4:] not in done
    assert redact(done) is done


@each(
    "text",
    [
        "--password hunter22",
        "--password 'hunter2!'",
        "PGPASSWORD=hunter22 psql -h db",
        "db:\n  password: hunter22\n",
        '{"password": "hunter2!"}',
        "Uid=app;Pwd=hunter22;",
        "mysql -phunter22 shop",
        "PGPASSWORD=1,hunter22 psql -h db",
        "tool --password hunter2,hunter2! --force",
        "mount -o username=me,password=hunter22,vers=3.0",
        "auth: { user: 'me', pass: 'hunter22' }",
    ],
)
def test_short_passwords_where_a_value_is_literal(text):
    """Passwords of five characters and more are replaced where no variable of a program can be."""
    assert "[REDACTED:" in redact(text)
    assert "hunter2" not in redact(text)


@pytest.mark.fault("secrets")
@each(
    "text",
    [
        "password = hunter22",
        "connect(password=pw1234)",
        "password == hunter22",
        "password: user.name2,",
        "--password $DB_PASSWORD1",
        "--password-file secret1.txt",
        "the --password option of psql15",
        "mysql -u root -p shop15",
        "docker run -u 1000:1000 nginx",
        "docker run -p 8080:80 -u app:app nginx",
        "date -u +%H:%M:%S2",
        "name-by-user:file12",
        "pass: 2.3.4-rc1",
        '{"pass": "17s", "fail": "2s"}',
        "PWD=/home/me2",
        "fe80:5432:aaaa:bbbb:cc1",
        "Cookie: theme=dark; lang=de; consent=accepted-all-of-them",
        "linear-gradient(90deg, #a1b2c3d4 0%)",
        "sentry: 7.120.3-beta.2",
        "linear_issue: 550e8400-e29b-41d4-a716-446655440000",
        "heroku_slug_commit=9035420aaf5bbd1a0e1b3c2d4e5f60718293a4b5",
    ],
)
def test_commands_and_code_without_passwords_stay(text):
    """Variables, options of other commands, versions, ids and hashes are not passwords."""
    assert redact(text) is text


# Pieces that rules start, end, stop or look at; in random combinations they try to expose each other.
PIECES = [
    *(stays + secret for _, stays, secret in SAMPLES),
    *(piece for place in (*NAMED, *FORMED) for piece in place.split("{}")),
    *"\n\"'`=:,;&.-_+/@()[]{}<>|$%*\\é",
    "\\n",
    *(
        "://",
        "u:",
        "a",
        "xxxx",
        "example",
        "Authorization: Bearer ",
        "[REDACTED:jwt]",
        "[REDACTED:",
        "]",
        " ",
    ),
    *("-----BEGIN " + "PRIVATE KEY-----", "-----END " + "PRIVATE KEY-----", "MIIE\n", "z" * 150),
    *(VALUE, VALUE[:11], body(27), body(40)),
]


@given(st.lists(st.sampled_from(PIECES) | texts(max_size=8), max_size=12).map("".join))
def test_a_second_redaction_changes_nothing(text):
    """However pieces of secrets are combined, no rule matches in the result."""
    done = redact(text)
    assert redact(done) is done


@given(texts())
def test_any_text_is_accepted(text):
    """No text raises."""
    assert isinstance(redact(text), str)


UNITS = [
    *sorted({secret[:cut] for _, _, secret in SAMPLES for cut in (3, 4, 7, 20)}),
    *(secret[:-1] + " " for _, _, secret in SAMPLES),
    *("eyJ" + "a" * 20 + ".", ".eyJ" + "a" * 20, "\\neyJ", "SG." + "a" * 30 + ".", "12345678:AA"),
    *("://", "://a:", "://a:@", "a@", "token=", 'token="', "api_key=key=", "secret ", "password: str = "),
    *("authorization: bearer ", "authorization: basic abcdefgh", "token=1", "key=", "token" + " " * 8, '\\"'),
    *(
        "-----BEGIN " + "PRIVATE KEY-----",
        "-----BEGIN " + "A " * 20,
        "-----BEGIN " + "PRIVATE KEY-----\n-----END ",
    ),
    *(
        "mysql ",
        "mysql -p",
        "-u a:",
        "Cookie: a=",
        "cookie",
        ":5432:a:b:",
        "login a password ",
        "<password>",
        "<password ",
    ),
    *(
        "--password ",
        "ENV A_PASSWORD ",
        "bearer ",
        "PASS=1,",
        "echo a:",
        "mnemonic abc ",
        "password for ",
        "identified with a",
        "password) ",
        "PDO('a','",
        "net use /user:a ",
        "name: token\nvalue: ",
        "pwd=1a",
        "pass: ",
        "datadog_api_key_token=",
        "datadog_api ",
        "dp.st.",
    ),
    *("-----BEGIN " + "PRIVATE KEY-----" + ("a" * 39 + "!") * 4, "[REDACTED:", "é", "a", "_", "-", "{", "."),
]


@pytest.mark.slow
@each("unit", UNITS)
@pytest.mark.parametrize("size", [3_000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_large_hostile_text(unit, size):
    """In up to 200 kB of secret prefixes, a secret at the end is still found, and a second pass changes nothing."""
    hostile = unit * (size // len(unit))
    done = redact(f"{hostile}\n ({SAMPLES[7][2]})")
    assert done.endswith(("\n ([REDACTED:github-token])", "[REDACTED:private-key]"))
    assert redact(done) is done


def test_rules_are_described():
    """Each rule has a name for its placeholder, a marker, and a fact."""
    assert all(rule.name.replace("-", "").isalnum() and rule.marker and rule.fact for rule in (*RULES, *FORMS))


def test_json_without_secrets_is_the_same_object():
    """If nothing is redacted the value itself is returned, whatever its type."""
    for value in ({"a": [1, 2.5, None, True, "text", {"b": []}]}, [], {}, "text", 3, None, False):
        assert redact_json(value) is value


def test_json_is_copied_only_on_the_way_to_a_secret():
    """The given value is not modified, parts without secrets are shared, and the order of keys stays."""
    token = "gh" + "p_" + body(36)
    value = {"clean": {"x": [1]}, token: [{"deep": ["a", f"b {token}"]}, "c"], "n": 1, "s": token}
    before = copy.deepcopy(value)
    done = redact_json(value)
    gone = "[REDACTED:github-token]"
    assert value == before
    assert done == {"clean": {"x": [1]}, gone: [{"deep": ["a", f"b {gone}"]}, "c"], "n": 1, "s": gone}
    assert list(done) == ["clean", gone, "n", "s"]
    assert done["clean"] is value["clean"]
    assert redact_json(done) is done


def test_keys_that_are_secrets_are_replaced_and_none_is_lost():
    """Wherever they are; two that became the same are told apart."""
    one, two = ("gh" + "p_" + characters for characters in (body(36), body(37)[:36]))
    done = redact_json({"a": [{one: {two: 1}, two: 2, "b": 3}], one: "c"})
    gone = "[REDACTED:github-token]"
    assert done == {"a": [{gone: {gone: 1}, f"{gone}_": 2, "b": 3}], gone: "c"}
    assert redact_json(done) is done


def test_json_string_alone():
    """A bare string is a JSON value, too."""
    assert redact_json("key " + "gh" + "p_" + body(36)) == "key [REDACTED:github-token]"


@pytest.mark.parametrize("depth", [10, 1000, 5000])
def test_json_of_any_depth(depth):
    """Any depth is accepted, and a secret at the bottom is replaced."""
    value = secret = {"password": VALUE}
    for level in range(depth):
        value = [value] if level % 2 else {"k": value}
    done = redact_json(value)
    for level in reversed(range(depth)):
        done = done[0] if level % 2 else done["k"]
    assert done == {"password": "[REDACTED:secret]"}
    assert secret == {"password": VALUE}


@each("key", ["api_key", "apiKey", "API-KEY", "x-api-key", "password", "DB_PASSWORD", "client_secret", "token"])
def test_json_value_under_a_telling_key(key):
    """A random value is replaced because of its key, as in text."""
    assert redact_json({"a": [{key: VALUE, "id": VALUE}]}) == {"a": [{key: "[REDACTED:secret]", "id": VALUE}]}


def test_json_header_under_its_key():
    """In a header whose name is the key, the credential is replaced and the scheme stays."""
    done = redact_json({"headers": {"Authorization": f"Bearer {body(30)}", "Accept": "text/html"}})
    assert done == {"headers": {"Authorization": "Bearer [REDACTED:authorization]", "Accept": "text/html"}}


@each(
    "value",
    [
        {"token": "refresh_token_grant_type"},
        {"password": ""},
        {"secret": "Enter the secret that was mailed to you"},
        {"api_key": "${API_KEY_FROM_VAULT_2}"},
        {"cache_key": VALUE, "key": VALUE, "tokens": VALUE},
        {'say "token': "x", "token\n": VALUE},
        {"token": 123456789012, "secret": None, "password": [VALUE]},
    ],
)
def test_json_that_is_harmless_under_its_keys(value):
    """Names, sentences, templates, numbers and values under other keys are returned as the same object."""
    assert redact_json(value) is value


@given(
    st.recursive(
        st.sampled_from(PIECES) | st.none() | texts(),
        lambda inner: (
            st.lists(inner) | st.dictionaries(st.sampled_from(["token", "password", "Authorization", "a"]), inner)
        ),
        max_leaves=20,
    )
)
def test_a_second_redaction_of_json_changes_nothing(value):
    """Redacting the result of `redact_json` changes nothing."""
    done = redact_json(value)
    assert redact_json(done) is done
