"""Values that a name makes secret: settings in files, code and headers."""

VALUES = r"""
aws-secret|AWS_SECRET_ACCESS_KEY|{b64_40}
aws-session|AWS_SESSION_TOKEN|{b64_200}
azure-openai|AZURE_OPENAI_API_KEY|{hex32}
azure-client|AZURE_CLIENT_SECRET|{url40}
datadog-api|DD_API_KEY|{hex32}
datadog-app|DATADOG_APP_KEY|{hex40}
twilio-auth|TWILIO_AUTH_TOKEN|{hex32}
cloudflare-token|CLOUDFLARE_API_TOKEN|{url40}
cloudflare-global|CF_API_KEY|{hex37}
heroku-old|HEROKU_API_KEY|{uuid}
mistral|MISTRAL_API_KEY|{an32}
cohere|COHERE_API_KEY|{an40}
deepgram|DEEPGRAM_API_KEY|{hex40}
assemblyai|ASSEMBLYAI_API_KEY|{hex32}
wandb|WANDB_API_KEY|{hex40}
algolia-admin|ALGOLIA_ADMIN_KEY|{hex32}
okta|OKTA_API_TOKEN|00{url40}
auth0|AUTH0_CLIENT_SECRET|{url64}
zendesk|ZENDESK_API_TOKEN|{an40}
postmark|POSTMARK_SERVER_TOKEN|{uuid}
codecov|CODECOV_TOKEN|{uuid}
snyk|SNYK_TOKEN|{uuid}
hetzner|HCLOUD_TOKEN|{an64}
scaleway|SCW_SECRET_KEY|{uuid}
linode|LINODE_TOKEN|{hex64}
vultr|VULTR_API_KEY|{up36}
travis|TRAVIS_API_TOKEN|{an22}
jenkins|JENKINS_API_TOKEN|11{hex32}
drone|DRONE_TOKEN|{an32}
pagerduty|PAGERDUTY_TOKEN|u+{url18}
rollbar|ROLLBAR_ACCESS_TOKEN|{hex32}
splunk|SPLUNK_HEC_TOKEN|{uuid}
mixpanel|MIXPANEL_SECRET|{hex32}
twitter-secret|TWITTER_CONSUMER_SECRET|{an50}
spotify|SPOTIFY_CLIENT_SECRET|{hex32}
reddit|REDDIT_CLIENT_SECRET|{url30}
twitch|TWITCH_OAUTH_TOKEN|oauth:{low30}
github-webhook|GITHUB_WEBHOOK_SECRET|{hex40}
django|SECRET_KEY|{an50}
rails|SECRET_KEY_BASE|{hex128}
rails-master|RAILS_MASTER_KEY|{hex32}
laravel|APP_KEY|base64:{b64_43}=
flask|FLASK_SECRET_KEY|{hex48}
nextauth|NEXTAUTH_SECRET|{b64_43}=
jwt-secret|JWT_SECRET|{an32}
session-secret|SESSION_SECRET|{url32}
cookie-secret|COOKIE_SECRET|{url32}
encryption-key|ENCRYPTION_KEY|{b64_43}=
fernet|FERNET_KEY|{url43}=
postgres|POSTGRES_PASSWORD|{pw}
postgres-word|POSTGRES_PASSWORD|{word}
mysql-root|MYSQL_ROOT_PASSWORD|{pw}
redis|REDIS_PASSWORD|{pw}
smtp|SMTP_PASS|{pw}
smtp-password|SMTP_PASSWORD|{pw}
database|DB_PASS|{pw}
database-pwd|DB_PWD|{pw}
ldap|LDAP_BIND_PASSWORD|{pw}
admin|ADMIN_PASSWORD|{pw}
ssh|SSH_PASSPHRASE|{pw}
keystore|KEYSTORE_PASSWORD|{pw}
minio|MINIO_ROOT_PASSWORD|{pw}
minio-secret|MINIO_SECRET_KEY|{an40}
grafana-admin|GF_SECURITY_ADMIN_PASSWORD|{pw}
rabbit|RABBITMQ_DEFAULT_PASS|{pw}
mongo|MONGO_INITDB_ROOT_PASSWORD|{pw}
ansible|ANSIBLE_BECOME_PASS|{pw}
vault-root|VAULT_TOKEN|s.{an24}
consul|CONSUL_HTTP_TOKEN|{uuid}
nomad|NOMAD_TOKEN|{uuid}
ethereum|PRIVATE_KEY|0x{hex64}
wireguard|PRIVATE_KEY|{b64_43}=
restic|RESTIC_PASSWORD|{pw}
borg|BORG_PASSPHRASE|{pw}
maps|GOOGLE_MAPS_API_KEY|{url39}
weather|OPENWEATHER_API_KEY|{hex32}
news|NEWS_API_KEY|{hex32}
generic-token|ACCESS_TOKEN|{an40}
refresh-token|REFRESH_TOKEN|{url64}
generic-secret|CLIENT_SECRET|{an32}
internal|INTERNAL_API_SECRET|{hex32}
""".strip().splitlines()

# %N is the name in upper case, %n in snake case, %c in camel case, %k with dashes; @ is the value
PLACES = (
    "%N=@",
    "export %N=@",
    'export %N="@"',
    "%N: @",
    '  %n: "@"',
    '{"%N": "@", "debug": true}',
    '"%c": "@",',
    "%n = @",
    "%n = '@'",
    'os.environ["%N"] = "@"',
    'const %c = "@";',
    "[service]\nhost = db\n%n=@\nport = 1",
    "  - %N=@",
    "ENV %N=@",
    'Environment="%N=@"',
    "%k: @",
    "--%k=@",
    '<add key="%N" value="@" />',
    "<%c>@</%c>",
    'variable "%n" {\n  default = "@"\n}',
    "The %n is @",
    '[{"name": "%N", "value": "@"}]',
    'declare -x %N="@"',
    "$env:%N = '@'",
)
