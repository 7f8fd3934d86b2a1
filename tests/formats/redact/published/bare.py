"""Tokens that are known by their own form, wherever they are: the prefixes and lengths that vendors publish."""

TOKENS = r"""
aws-access-key|AKIA{b32_16}
aws-temporary-key|ASIA{b32_16}
aws-bedrock-key|ABSK{b64_128}
anthropic-api|sk-ant-api03-{url93}AA
anthropic-admin|sk-ant-admin01-{url93}AA
anthropic-oauth|sk-ant-oat01-{url93}AA
openai-legacy|sk-{an20}T3BlbkFJ{an20}
openai-project|sk-proj-{url74}T3BlbkFJ{url74}
openai-service|sk-svcacct-{url74}T3BlbkFJ{url74}
openai-admin|sk-admin-{url58}T3BlbkFJ{url58}
openrouter|sk-or-v1-{hex64}
deepseek|sk-{hex32}
github-classic|ghp_{an36}
github-oauth|gho_{an36}
github-user|ghu_{an36}
github-server|ghs_{an36}
github-refresh|ghr_{an76}
github-fine|github_pat_{an22}_{an59}
gitlab-personal|glpat-{url20}
gitlab-deploy|gldt-{url20}
gitlab-runner|glrt-{url20}
gitlab-trigger|glptt-{hex40}
gitlab-job|glcbt-{an5}_{url20}
gitlab-feed|glft-{url20}
gitlab-scim|glsoat-{url20}
gitlab-mail|glimt-{low25}
gitlab-agent|glagent-{url50}
gitlab-flags|glffct-{url20}
gitlab-registration|GR1348941{url20}
slack-bot|xoxb-{dig12}-{dig12}-{an24}
slack-user|xoxp-{dig12}-{dig12}-{dig12}-{hex32}
slack-app|xapp-1-A{up10}-{dig13}-{hex64}
slack-refresh|xoxe-1-{b64_146}
slack-config|xoxe.xoxp-1-{an163}
slack-client|xoxc-{dig12}-{dig12}-{dig12}-{hex64}
slack-webhook|https://hooks.slack.com/services/T{up10}/B{up10}/{an24}
slack-workflow|https://hooks.slack.com/workflows/T{up10}/A{up10}/{dig18}/{an24}
discord-bot|MT{an24}.G{an5}.{url38}
discord-webhook|https://discord.com/api/webhooks/{dig19}/{url68}
teams-webhook|https://acme.webhook.office.com/webhookb2/{uuid}@{uuid}/IncomingWebhook/{hex32}/{uuid}
telegram-bot|{dig10}:AA{url33}
stripe-live|sk_live_{an24}
stripe-long|sk_live_51{an97}
stripe-test|sk_test_{an24}
stripe-restricted|rk_live_{an24}
stripe-webhook|whsec_{an32}
square-access|sq0atp-{url22}
square-secret|sq0csp-{url43}
square-oauth|EAAA{url60}
twilio-key|SK{hex32}
sendgrid|SG.{url22}.{url43}
mailgun|key-{hex32}
mailchimp|{hex32}-us12
brevo|xkeysib-{hex64}-{an16}
brevo-smtp|xsmtpsib-{hex64}-{an16}
mailersend|mlsn.{hex64}
resend|re_{an8}_{an24}
npm|npm_{an36}
pypi|pypi-AgEIcHlwaS5vcmc{url120}
rubygems|rubygems_{hex48}
nuget|oy2{low43}
crates|cio{an32}
clojars|CLOJARS_{hex60}
docker-personal|dckr_pat_{url27}
docker-organisation|dckr_oat_{url32}
jfrog-key|AKCp8{an68}
jfrog-reference|cmVmdGtuOjAx{an52}
google-api|AIza{url35}
google-oauth|ya29.{url120}
google-secret|GOCSPX-{url28}
google-refresh|1//0{url100}
azure-client-secret|{an3}8Q~{url34}
azure-devops|{an76}AZDO{an4}
azure-storage|{b64_76}+ASt{b64_6}==
azure-functions|{url44}AzFu{an6}==
azure-search|{an42}AzSe{an6}
digitalocean-personal|dop_v1_{hex64}
digitalocean-oauth|doo_v1_{hex64}
digitalocean-refresh|dor_v1_{hex64}
heroku|HRKU-AA{url58}
fly|FlyV1 fm2_{b64_120}
fly-macaroon|fm2_{b64_120}
netlify|nfp_{an36}
render|rnd_{an28}
supabase|sbp_{hex40}
supabase-secret|sb_secret_{url31}
neon|napi_{low64}
planetscale-token|pscale_tkn_{url43}
planetscale-password|pscale_pw_{url43}
planetscale-oauth|pscale_oauth_{url43}
cloudflare-origin|v1.0-{hex24}-{hex146}
doppler-personal|dp.pt.{an43}
doppler-service|dp.st.prd.{an43}
doppler-cli|dp.ct.{an43}
vault-service|hvs.{url95}
vault-batch|hvb.{url140}
terraform-cloud|{an14}.atlasv1.{url67}
age-key|AGE-SECRET-KEY-1{BECH58}
onepassword-service|ops_eyJ{url260}
onepassword-secret-key|A3-{up6}-{up11}-{up5}-{up5}-{up5}
linear|lin_api_{an40}
notion-old|secret_{an43}
notion|ntn_{an46}
figma|figd_{url40}
airtable|pat{an14}.{hex64}
atlassian|ATATT3xFfGF0{url180}
bitbucket-app|ATBB{an32}
trello|ATTA{hex64}{HEX8}
newrelic-user|NRAK-{up27}
newrelic-insert|NRII-{url32}
newrelic-browser|NRJS-{hex19}
grafana-cloud|glc_{b64_60}
grafana-service|glsa_{an32}_{hex8}
sentry-user|sntryu_{hex64}
sentry-organisation|sntrys_eyJ{b64_120}_{b64_43}
dynatrace|dt0c01.{b32_24}.{b32_64}
posthog|phx_{an43}
segment|sgp_{an64}
launchdarkly-sdk|sdk-{uuid}
launchdarkly-api|api-{uuid}
buildkite|bkua_{hex40}
circleci|CCIPAT_{an22}_{hex40}
sonar-user|squ_{hex40}
sonar-project|sqp_{hex40}
huggingface|hf_{let34}
replicate|r8_{an37}
groq|gsk_{an52}
xai|xai-{an80}
perplexity|pplx-{an48}
cerebras|csk-{low48}
nvidia|nvapi-{url64}
together|tgp_v1_{url43}
fireworks|fw_{an24}
voyage|pa-{url43}
jina|jina_{an32}{url29}
tavily|tvly-dev-{an32}
elevenlabs|sk_{hex48}
langsmith|lsv2_pt_{hex32}_{hex10}
langfuse|sk-lf-{uuid}
pinecone|pcsk_{an6}_{an63}
databricks|dapi{hex32}
runpod|rpa_{up44}
firecrawl|fc-{hex32}
e2b|e2b_{hex40}
apify|apify_api_{an36}
llamacloud|llx-{an48}
sourcegraph|sgp_{hex16}_{hex40}
browserbase|bb_live_{url27}
helicone|sk-helicone-{low7}-{low7}-{low7}-{low7}
shopify-admin|shpat_{hex32}
shopify-custom|shpca_{hex32}
shopify-partner|shppa_{hex32}
shopify-shared|shpss_{hex32}
woocommerce-key|ck_{hex40}
woocommerce-secret|cs_{hex40}
paypal|access_token$production${low16}${hex32}
plaid|access-production-{uuid}
razorpay|rzp_live_{an14}
flutterwave|FLWSECK-{hex32}-X
paddle|pdl_live_apikey_{low26}_{an22}_{an3}
brex|bxt_{an40}
mercury|secret-token:mercury_production_wma_{an50}_yrucrem
dropbox|sl.{url135}
adobe|p8e-{url32}
contentful|CFPAT-{url43}
readme|rdme_{low70}
mapbox|sk.eyJ{an80}.{url22}
typeform|tfp_{url44}_{an14}
hubspot|pat-na1-{uuid}
salesforce|00D{an12}!AQ{url90}
easypost|EZAK{an54}
shippo|shippo_live_{hex40}
duffel|duffel_live_{url43}
postman|PMAK-{hex24}-{hex34}
klaviyo|pk_{hex34}
onesignal|os_v2_app_{low100}
firebase-server|AAAA{url7}:APA91b{url134}
infracost|ico-{an32}
pulumi|pul-{hex40}
prefect|pnu_{an36}
dbt|dbtc_{url44}
mongodb-service|mdb_sa_sk_{url40}
tailscale-auth|tskey-auth-{an12}CNTRL-{an32}
tailscale-api|tskey-api-{an12}CNTRL-{an32}
ngrok|2{an26}_{an21}
scalingo|tk-us-{url48}
alibaba|LTAI{an20}
tencent|AKID{an32}
yandex-key|AQVN{url36}
yandex-oauth|y0_{url55}
facebook|EAA{an120}
twitter-bearer|AAAAAAAAAAAAAAAAAAAAA{an80}
definednet|dnkey-{up26}-{up52}
stytch|secret-live-{url43}=
ory|ory_pat_{an32}
swarm-join|SWMTKN-1-{low50}-{low25}
bitcoin-wif|5H{b58_49}
bitcoin-wif-compressed|Kz{b58_50}
extended-private|xprv9{b58_106}
nostr|nsec1{bech58}
jwt|{jwt}
private-key|-----BEGIN RSA PRIVATE KEY-----\n«{pem}»\n-----END RSA PRIVATE KEY-----
private-key-pkcs8|-----BEGIN PRIVATE KEY-----\n«{pem}»\n-----END PRIVATE KEY-----
private-key-ec|-----BEGIN EC PRIVATE KEY-----\n«{pem}»\n-----END EC PRIVATE KEY-----
private-key-openssh|-----BEGIN OPENSSH PRIVATE KEY-----\n«b3BlbnNzaC1rZXktdjEAAAAA{b64_47}\n{pem}»\n-----END OPENSSH PRIVATE KEY-----
private-key-pgp|-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n«{pem}»\n-----END PGP PRIVATE KEY BLOCK-----
private-key-without-begin|«{pem}»\n-----END RSA PRIVATE KEY-----
private-key-without-ends|«MIIEowIBAAKCAQEA{b64_48}\n{pem}»
private-key-pkcs8-without-ends|«MIIEvQIBADANBgkqhkiG9w0BAQEFAASC{b64_32}\n{pem}»
private-key-openssh-without-ends|«b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAAB{b64_18}\n{pem}»
private-key-openssh-tail|«{pem}»\n-----END OPENSSH PRIVATE KEY-----
mnemonic-12|{seed12}
mnemonic-24|{seed24}
""".strip().splitlines()

PLACES = (
    "I found @ in the log.",
    "`@`",
    'print("@")',
    '{"value": "@", "n": 1}',
    "- @",
    "2026-03-04T05:06:07Z INFO got @",
    "x = '@'",
    "| first | @ |",
    "The old one was @, please rotate it",
    "    @",
)
BLOCKS = ("@", "Here it is:\n\n@\n\nThat was all.", "```\n@\n```", "$ cat key\n@\n$ ls")
SENTENCES = (
    "@",
    "My wallet's recovery phrase is: @",
    "mnemonic: @",
    'MNEMONIC="@"',
    '{"seedPhrase": "@"}',
    "Write this down:\n@\nand never share it.",
)
