"""A generator of secrets in the forms their vendors document, and of harmless text that looks like them.

It shares nothing with the rules: a shape is written as in a vendor's documentation, `ghp_` and 36 letters and digits.
In a template `{A36}` stands for 36 random characters: A letters and digits, B base64, C capitals and digits, D digits,
H hexadecimal, L small letters and digits, U letters, digits, `-` and `_`; `{uuid}` and `{password}` for those. Templates
have a space inside their prefix, which is removed, so that no scanner takes this file for a leak.
"""

import random
import re
import string
from collections.abc import Iterator
from typing import NamedTuple

_LETTERS = string.ascii_letters + string.digits
_ALPHABETS = {
    "A": _LETTERS,
    "B": _LETTERS + "+/",
    "C": string.ascii_uppercase + string.digits,
    "D": string.digits,
    "H": "0123456789abcdef",
    "L": string.ascii_lowercase + string.digits,
    "U": _LETTERS + "-_",
}


class Sample(NamedTuple):
    """A text, the secret in it (empty if it is harmless), and the kind it is an example of."""

    group: str
    kind: str
    text: str
    secret: str


class _Maker:
    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def fill(self, template: str) -> str:
        """Replace what is in braces by random characters."""
        return re.sub(r"\{(\w+)\}", lambda match: self._characters(match[1]), template)

    def _characters(self, wanted: str) -> str:
        if wanted == "uuid":
            return "-".join(self._characters(f"H{length}") for length in (8, 4, 4, 4, 12))
        if wanted == "password":
            return self.password()
        if wanted == "word":
            return self._random.choice(_WORDS)
        if wanted[0] in _ALPHABETS and wanted[1:].isdigit():
            return "".join(self._random.choices(_ALPHABETS[wanted[0]], k=int(wanted[1:])))
        raise ValueError(wanted)

    def password(self) -> str:
        """Return a password as people and generators make them: letters, digits, and often a special character."""
        word = self._random.choice(_WORDS).capitalize() + self._random.choice(_WORDS)
        made = f"{word}{self._random.choice('!@#%^+_')}{self._random.randrange(10, 9999)}"
        return self._random.choice((made, made, self.fill("{A14}7"), self.fill("{A9}!{D3}"), self.fill("{L10}4")))


_VOCABULARY = (
    "river stone maple orbit violet anchor copper falcon garden harbor island jungle kettle lemon meadow north"
)
_WORDS = _VOCABULARY.split()

_KINDS = """
anthropic sk-an t-api03-{U93}AA
anthropic-admin sk-an t-admin01-{U93}AA
anthropic-oauth sk-an t-oat01-{U93}AA
openai s k-{A48}
openai-project sk-pro j-{U74}T3BlbkFJ{U74}
openai-service sk-svcacc t-{U120}
openrouter sk-o r-v1-{H64}
deepseek s k-{H32}
huggingface h f_{A34}
groq gs k_{A52}
xai xa i-{A80}
perplexity ppl x-{A48}
replicate r 8_{A37}
tavily tvl y-{A32}
tavily-dev tvl y-dev-{A32}
langsmith lsv2 _pt_{H32}_{H10}
langsmith-service lsv2 _sk_{H32}_{H10}
nvidia nvap i-{U64}
pinecone pcs k_{A6}_{A62}
elevenlabs s k_{H48}
gemini A Q.{U50}
google AIz a{U35}
cerebras cs k-{L48}
fireworks f w_{A24}
firecrawl f c-{H32}
jina jin a_{H32}{U28}
langfuse sk-l f-{uuid}
helicone sk-helicon e-{L7}-{L7}-{L7}-{L7}
voyage p a-{U43}
runpod rp a_{C40}
wandb wandb_ v1_{A80}
e2b e2 b_{H40}
together tgp_ v1_{U43}
posthog ph x_{A43}
vercel vc p_{A56}
netlify nf p_{A36}
resend r e_{A8}_{A24}
tailscale tske y-auth-{A17}-{A32}
circleci CCIPA T_{A22}_{H40}
hubspot pat-n a1-{uuid}
hubspot-eu pat-e u1-{uuid}
github gh p_{A36}
github-oauth gh o_{A36}
github-user gh u_{A36}
github-server gh s_{A36}
github-refresh gh r_{A36}
github-fine github_ pat_{A22}_{A59}
gitlab glpa t-{U20}
gitlab-routable glpa t-{U44}.01.{L9}
gitlab-deploy gld t-{U20}
gitlab-runner glr t-{U20}
gitlab-trigger glpt t-{H40}
gitlab-agent glagen t-{U50}
gitlab-oauth gloa s-{H64}
gitlab-scim glsoa t-{U20}
gitlab-feed glf t-{U20}
gitlab-mail glim t-{U25}
gitlab-job glcb t-64_{U20}
gitlab-registration GR13489 41{U20}
bitbucket ATB B{A32}
atlassian ATATT 3xFfGF0{U180}={C8}
npm np m_{A36}
pypi pyp i-AgEIcHlwaS5vcmc{U150}
rubygems rubygem s_{H48}
crates ci o{A32}
nuget oy 2{L43}
clojars CLOJAR S_{L60}
docker dckr_ pat_{U27}
docker-org dckr_ oat_{U32}
artifactory AKC p{A69}
artifactory-reference cmVm d{A59}
buildkite bku a_{H40}
harness pa t.{U22}.{A24}.{A20}
octopus AP I-{C26}
sonar sq u_{H40}
sonar-project sq p_{H40}
sourcegraph sg p_{H16}_{H40}
snyk snyk_ uat.{H8}.{U120}
postman PMA K-{H24}-{H34}
readme rdm e_{L70}
aws AKI A{C16}
aws-temporary ASI A{C16}
bedrock ABS K{B128}=
bedrock-short bedrock-ap i-key-YmVkcm9jay5hbWF6b25hd3MuY29t{B60}
google-oauth ya2 9.{U150}
google-secret GOCSP X-{U28}
alibaba LTA I{A20}
tencent AKI D{A32}
yandex AQV N{U36}
yandex-iam t 1.{U80}.{U86}
digitalocean dop_ v1_{H64}
digitalocean-oauth doo_ v1_{H64}
heroku HRK U-AA{U58}
fly fo 1_{U43}
fly-macaroon fm 2_{B140}
render rn d_{A32}
neon nap i_{L64}
scalingo tk-u s-{U48}
pulumi pu l-{H40}
doppler dp. pt.{A43}
doppler-service dp. st.prd.{A43}
vault hv s.{U92}
vault-batch hv b.{U150}
infracost ic o-{A32}
prefect pn u_{A36}
1password A 3-{C6}-{C11}-{C5}-{C5}-{C5}
1password-service ops_ eyJ{A280}
clickhouse 4b1 d{A38}
databricks dap i{H32}
planetscale pscale_ tkn_{U43}
planetscale-password pscale_ pw_{U43}
supabase sb p_{H40}
supabase-secret sb_ secret_{U31}
cloudflare-origin v1. 0-{H24}-{H146}
openshift sha25 6~{U43}
azure {A3}8 Q~{U34}
terraform {A14}.atlas v1.{U67}
stripe sk_ live_{A24}
stripe-test sk_ test_{A24}
stripe-restricted rk_ live_{A99}
stripe-webhook whse c_{A32}
shopify shpa t_{H32}
shopify-shared shps s_{H32}
square sq0at p-{U22}
square-new EAA A{U60}
flutterwave FLWSECK_ TEST-{H32}-X
plaid access-sandbo x-{uuid}
duffel duffel_ test_{U43}
easypost EZA K{A54}
shippo shippo_ live_{H40}
slack xox b-{D12}-{D13}-{A24}
slack-user xox p-{D12}-{D12}-{D13}-{H32}
slack-app xap p-1-{C11}-{D13}-{H64}
slack-refresh xox e-1-{C146}
brevo xkeysi b-{H64}-{A16}
sendgrid S G.{U22}.{U43}
twilio S K{H32}
mailgun ke y-{H32}
mailchimp {H32}-u s21
notion-old secre t_{A43}
notion nt n_{D11}{A35}
linear lin_ api_{A40}
airtable pa t{A14}.{H64}
typeform tf p_{U44}
figma fig d_{U40}
frameio fio- u-{U64}
adobe p8 e-{A32}
dropbox s l.{U140}
facebook EAA C{A120}
intercom dG9r O{B54}=
42 s-s4t2u d-{H64}
settlemint sm_ pat_{A16}
grafana glsa _{A32}_{H8}
grafana-cloud gl c_{B80}=
newrelic NRA K-{C27}
sentry sntry u_{H64}
sentry-org sntry s_eyJ{A120}_{B43}
dynatrace dt0c 01.{C24}.{C64}
launchdarkly sd k-{uuid}
maxmind {A6}_{A29}_m mk
mapbox s k.{A80}.{U22}
age AGE-SECRET-KE Y-1{C58}
telegram {D10}:A A{U33}
discord MTk4NjIyNDgzNDcxOTI1MjQ4.C l2FMQ.{U27}
jwt ey J{A33}.ey J{U60}.{U43}
authress s c_{A20}.{L4}.a cc-{L20}.{U60}
contentful CFPA T-{U43}
defined-networking dnke y-{U26}-{U52}
codecov codeco v_{U40}
gitlab-session _gitla b_session={L32}
facebook-app {D16}|{U27}
grafana-old ey JrIjoi{A80}
mailgun-public pubke y-{H32}
slack-webhook https://hooks.slac k.com/services/T{C8}/B{C10}/{A24}
teams-webhook https://shop.webhook.offic e.com/webhookb2/{uuid}@{uuid}/IncomingWebhook/{H32}/{uuid}
discord-webhook https://discord.com/api/w ebhooks/{D18}/{U68}
cloudflare cfu t_{A40}
slack-config xoxe.x oxp-1-{C163}
vault-older s .{L12}4{A10}7
jwt-base64 ZXl K{A120}
"""

# Kinds without a shape of their own, known by the vendor's name in front of a random value.
_VENDORS = """
adafruit {L32}|adobe {H32}|airtable key{A14}|algolia {H32}|alibaba {L30}|asana {L32}|assemblyai {H32}|beamer b_{U44}
bitbucket {A64}|bittrex {H32}|cloudflare {U40}|codecov {uuid}|cohere {A40}|coinbase {A64}|confluent {A64}
contentful {U43}|datadog {H40}|deepgram {H40}|discord {U32}|droneci {L32}|dropbox {L15}|etsy {L24}|facebook {H32}
fastly {U32}|finnhub {L20}|flickr {H32}|freshbooks {H64}|gitter {H40}|gocardless live_{U40}|heroku {uuid}
hubspot {uuid}|intercom {A60}|jfrog {A73}|kraken {B86}==|kucoin {uuid}|launchdarkly {uuid}|linkedin {A16}|lob live_{H35}
looker {A24}|mattermost {L26}|meraki {H40}|messagebird {A25}|mistral {A32}|newrelic {L64}|nytimes {A32}|okta 00{U40}
plaid {H30}|postmark {uuid}|rapidapi {L50}|sendbird {H40}|sentry {H64}|snyk {uuid}|squarespace {uuid}|sumologic {A64}
travis {A22}|twitch {L30}|twitter {A50}|yandex {U38}|zendesk {A40}
"""

_PLACES = (
    "{}",
    "I found {} in the log, please revoke it.",
    "export SERVICE_TOKEN={}\n",
    '{"credentials": ["{}"], "n": 1}',
    "curl -sS -H 'X-Service: {}' https://example.org",
    "Step 3: `{}` goes into the vault.",
)
_NAMED_PLACES = (
    "{K}_API_KEY={}",
    "{k}_api_key: {}\n",
    '{"{k}Token": "{}"}',
    "const {k}Secret = '{}';",
    'export {K}_ACCESS_TOKEN="{}"',
    '{k} = "{}"',
)

# The forms in which passwords and keys stand in a terminal and in files.
_TERMINAL = r"""
myctl login --password {password} --host db1
myctl login --password={password}
myctl --passwd '{password}' list
deploy --db-password "{password}" --dry-run
createuser --pass {password}
gh auth login --token {A40}
helm install x --set auth.password={password}
vault login --api-key {A32}
aws configure set --client-secret {A40}
curl -u admin:{password} https://example.org/api
curl -sS --user deploy:{password} https://example.org
curl -u "ci:{password}" https://example.org/x
curl --proxy-user me:{password} https://example.org
mysql -u root -p{password} shop
mysqldump -h db -uapp -p'{password}' shop > shop.sql
mariadb -p{password} -e 'select 1'
sshpass -p {password} ssh me@host
sshpass -p '{password}' scp a me@host:
redis-cli -h cache -a {password} ping
docker login -u me -p {password} registry.example.org
podman login registry.example.org -u me -p {password}
mongosh --host db -u app -p {password} shop
ldapsearch -x -D cn=admin -w {password} -b dc=x
htpasswd -bc users.txt me {password}
sqlcmd -S db -U sa -P {password} -Q 'select 1'
unzip -P {password} backup.zip
7z x -p{password} backup.7z
smbclient //nas/share -U me%{password}
openssl enc -aes-256-cbc -K {H64} -iv 0
openssl rsa -in key.pem -passin pass:{password}
PGPASSWORD={password} psql -h db -U app shop
MYSQL_PWD={password} mysql -u root
export DB_PASSWORD={password}
set -x DB_PASSWORD {password}
setx DB_PASSWORD {password}
DB_PASS="{password}" ./run.sh
REDIS_PASSWORD='{password}'
ENV DB_PASSWORD {password}
ENV API_TOKEN {A32}
ARG NPM_TOKEN={A36}
machine example.org login me password {password}
db.example.org:5432:shop:app:{password}
*:*:*:postgres:{password}
//registry.npmjs.org/:_authToken={uuid}
//npm.example.org/:_password="{password}"
//npm.example.org/:_auth={B40}=
{"auths": {"ghcr.io": {"auth": "{B48}"}}}
db:\n  user: app\n  password: {password}\n
db:\n  password: "{password}"\n
{"user": "app", "password": "{password}"}
{"passphrase": "{password}", "n": 2}
<password>{password}</password>
<apiKey>{A32}</apiKey>
<secret-key>{A40}</secret-key>
<add key="ClearTextPassword" value="{password}" />
Server=db;User ID=sa;Password={password};Encrypt=true
Server=db;Uid=app;Pwd={password};
DefaultEndpointsProtocol=https;AccountName=x;AccountKey={B86}==;EndpointSuffix=core.windows.net
Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=root;SharedAccessKey={B43}=
postgres://app:{password}@db.example.org/shop
redis://:{L24}@cache:6379/0
amqp://me:{A16}@queue
SECRET_KEY={H64}
ENCRYPTION_KEY={H32}
aes_key = "{H64}"
PRIVATE_KEY=0x{H64}
private_key: "{H64}"
HMAC_KEY='{B43}='
APP_KEY=base64:{B43}=
AWS_SECRET_ACCESS_KEY={B40}
Cookie: theme=dark; session={U43}; lang=de
Set-Cookie: sid={U48}; Path=/; HttpOnly; Secure
curl -b 'session={A40}' https://example.org
curl -H "Cookie: auth_session={A40}" https://example.org
curl -H "X-Api-Key: {A32}" https://example.org
curl -H 'PRIVATE-TOKEN: {A24}' https://example.org
curl -H "Authorization: Bearer {A40}" https://example.org
Authorization: Basic {B32}=
Authorization: token {H40}
Authorization: SSWS {U42}
authorization: ApiKey {A32}
"Authorization": "Bot {A40}"
X-Auth-Token: {H32}
login with Bearer {A40}
"""

_HARMLESS = r"""
commit {H40}
Merge branch 'main' at {H7}
index {H7}..{H7} 100644
git checkout {H40} -- src
"commit": "{H40}"
parent: {H40}
gitHead: "{H40}"
{uuid}
"session_id": "{uuid}"
requestId={uuid}
trace_id: {H32}
span_id={H16}
etag: "{H32}"
sha256:{H64}
image: nginx@sha256:{H64}
"integrity": "sha512-{B86}=="
"resolved": "https://registry.npmjs.org/x/-/x-1.2.3.tgz#{H40}"
integrity="sha384-{B64}"
checksum = "{H64}"
digest: sha256:{H64}
md5 {H32}  file.tar.gz
{H64}  dist/app.zip
data:image/png;base64,{B400}==
"thinking_signature": "{B200}="
"encrypted_content": "{B200}="
url("data:font/woff2;base64,{B200}")
token = get_token()
token = tokens[{D2}]
password = input("Password: ")
password: string;
password = form.cleaned_data["password1"]
const password = req.body.password;
self.password = hash_password(password, salt)
if (password !== confirm_password2) {
api_key = os.environ["SERVICE_API_KEY"]
apiKey: process.env.OPENAI_API_KEY,
secret := os.Getenv("APP_SECRET_V2")
API_KEY=${API_KEY}
API_KEY=$MY_API_KEY_2
PASSWORD={{ db_password }}
token: ${{ secrets.GITHUB_TOKEN }}
DATABASE_URL=postgres://user:${DB_PASSWORD}@host/db
API_KEY=your-api-key-here
OPENAI_API_KEY=<your-key-123>
password=changeme
--password <password>
--password $DB_PASSWORD
--password-stdin < password.txt
the --token option takes a {word} value
mysql -u root -p shop
docker run -u 1000:1000 -p 8080:80 nginx
docker run -p 127.0.0.1:5432:5432 postgres
chown app:app1 /srv
ssh -p 2222 me@host
mkdir -p {word}/{word}2/{word}3
date -u +%Y-%m-%dT%H:%M:%SZ
src/{word}.py:{D3}:{D2}: error: {word} {word}
ERROR {word}.js:{D3}:{D2}:{word}:unexpected
fe80::{H4}:{H4}:{H4}:{H4}
00:1A:{H2}:{H2}:{H2}:{H2}
https://example.org/{word}/{uuid}?page={D2}&sort={word}
https://cdn.example.org/assets/index-{A8}.js
s3://bucket/{word}/{H32}.parquet
/home/me/.cache/{word}/{H40}/blob
{word}-{D4}-{word}-{word}-final-v{D2}.docx
.btn-{word}:hover{color:#{H6};background:#{H6}}
grid-template-columns:repeat(auto-fit,minmax({D3}px,1fr))
!function(e,t){"object"==typeof exports?module.exports=t():e.{word}=t()}(this,function(){return{a:{D3}}});
var a=b.c({D4}),d=function(e){return e.key},f={key:"{word}",token:e.token};
cache_key = "{word}:{uuid}"
primary_key: {A16}
foreign key (user_id) references users (id)
public_key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA{B43} me@host"
key: "{word}.{word}.{word}"
max_tokens: {D4}, tokens_used={D5}
tokenizer = AutoTokenizer.from_pretrained("{word}/{word}-{D2}b")
"token_type": "refresh_token_grant"
next_page_token: null
csrf_token() }}
ACCESS_TOKEN_EXPIRE_MINUTES = {D2}
secret_name: prod/{word}/database
secretKeyRef: {name: {word}-{word}, key: password}
<input type="password" name="password" placeholder="{word}">
<label for="password">Password</label>
class PasswordResetTokenGenerator2(Base): pass
def test_password_hash_of_{word}_is_{D3}(self):
cookie: SameSite=Lax; Secure; Path=/{word}
Set-Cookie: theme=dark; Path=/; Max-Age={D8}
authorization: required
Authorization: Bearer <token>
"Authorization": f"Bearer {api_token}"
linear-gradient({D2}deg, #{H6} 0%, #{H6} 100%)
"sentry": "^{D1}.{D2}.{D1}"
linear_issue_url = https://linear.app/{word}/issue/ABC-{D3}
discord.js@14.{D2}.{D1}
sk-learn-contrib-{word}-{word}-{word}
task-{H32}
re_{word}_{word}_{word}_of_the_{word}_table
hf_hub_download_from_{word}_{word}_to_{word}
npm_config_registry_{word}_{word}_{word}_{word}
pat-{word}-{word}-{word}-{word}-{word}-{word}
sha1-{B27}=
Version: {D1}.{D2}.{D3}-beta.{D2}+{H7}
{D10} {D13} {D19}
+49 {D3} {D8}
DE{D20}
ISBN 978-{D1}-{D5}-{D3}-{D1}
{C4}-{D4}-{D2}
x86_64-unknown-linux-gnu-{D4}
arn:aws:iam::{D12}:role/{word}-{word}
projects/{word}-{D6}/secrets/{word}/versions/{D1}
"""


def secrets(seed: int = 1) -> Iterator[Sample]:
    """Yield over 1,000 texts with one secret each."""
    make = _Maker(seed)
    for kind, template in (line.split(" ", 1) for line in _KINDS.strip().split("\n")):
        for place in _PLACES:
            secret = make.fill(template.replace(" ", ""))
            yield Sample("shape", kind, place.replace("{}", secret), secret)
    for kind, template in (entry.split(" ") for entry in re.split(r"[|\n]", _VENDORS.strip())):
        for place in _NAMED_PLACES:
            secret = make.fill(template)
            text = place.replace("{K}", kind.upper()).replace("{k}", kind).replace("{}", secret)
            yield Sample("named by a vendor", f"{kind}, named", text, secret)
    for line in _TERMINAL.strip().split("\n"):
        form = re.search(r"(0x|base64:)?\{(password|uuid|[A-Z]\d+)\}=*", line)
        assert form is not None
        for _ in range(5):
            secret = make.fill(form[0])
            yield Sample("terminal", line, line.replace(form[0], secret).replace("\\n", "\n"), secret)


def harmless(seed: int = 2) -> Iterator[Sample]:
    """Yield over 500 texts without a secret."""
    make = _Maker(seed)
    for line in _HARMLESS.strip().split("\n"):
        for _ in range(5):
            yield Sample("harmless", line, _filled(make, line), "")


def _filled(make: _Maker, line: str) -> str:
    """Fill a template in which other braces are text."""
    return re.sub(r"\{(uuid|word|[A-DHLU]\d+)\}", lambda match: make.fill(match[0]), line)
