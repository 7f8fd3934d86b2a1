"""What looks like a secret and is none: nothing of it may change."""

TEXTS = r"""
command-substitution|mysql -u root --password="$(cat /run/secrets/db)"
command-substitution|export DB_PASSWORD=$(pass show {db}/db)
command-substitution|TOKEN="$(gh auth token)" make release
command-substitution|API_KEY=$(aws secretsmanager get-secret-value --secret-id {db} --query SecretString)
command-substitution|curl -H "Authorization: Bearer $(gcloud auth print-access-token)" https://{host}/v1
command-substitution|docker login -u {user} -p "$(cat ~/token.txt)" {host}
command-substitution|PGPASSWORD="$(cat .pw)" psql -h {host}
command-substitution|sshpass -p "$(cat ~/.pw)" ssh {user}@{host}
command-substitution|curl -u "{user}:$(cat pw)" https://{host}/
command-substitution|psql "postgres://{user}:$(cat pw)@{host}/{db}"
backticks|export SECRET_KEY=`openssl rand -hex 32`
backticks|mysql --password=`cat /etc/pw` {db}
backticks|DB_PASS="`head -c 16 /dev/urandom | base64`"
variable|export API_TOKEN=${SERVICE_TOKEN}
variable|PGPASSWORD=$DB_PASSWORD psql -h {host}
variable|mysql -u root -p"$MYSQL_ROOT_PASSWORD" {db}
variable|mysql -u root -p${MYSQL_ROOT_PASSWORD} {db}
variable|curl -u "$USER:$PASS" https://{host}/
variable|curl --user "${API_USER}:${API_PASSWORD}" https://{host}/
variable|curl -H "Authorization: Bearer $TOKEN" https://{host}/
variable|curl -H "X-Api-Key: ${API_KEY}" https://{host}/
variable|git clone https://x-access-token:${GITHUB_TOKEN}@github.com/acme/x
variable|git clone "https://$USER:$TOKEN@git.acme.dev/x"
variable|sshpass -p "$SSH_PASSWORD" ssh {user}@{host}
variable|docker login -u "$DOCKER_USER" -p "$DOCKER_PASSWORD"
variable|echo "$DOCKER_PASSWORD" \| docker login -u {user} --password-stdin
variable|DATABASE_URL=postgres://${DB_USER}:${DB_PASSWORD}@{host}/{db}
variable|password: ${DB_PASSWORD:-unset}
variable|api_key: {{ .Values.apiKey }}
variable|token: ${{ secrets.GITHUB_TOKEN }}
variable|password = var.db_password
variable|password: "{{ vault_db_password }}"
variable|set DB_PASSWORD=%OTHER_PASSWORD%
variable|$env:API_KEY = $Key
variable|password: !vault |
variable|helm install x --set auth.password=$PASSWORD
variable|--from-literal=password="$DB_PASSWORD"
variable|echo $SUDO_PASSWORD \| sudo -S true
variable|ansible-playbook a.yml -e ansible_password="${PW}"
page-token|page_token=CAUQ{url20}
page-token|"page_token": "{url32}"
page-token|"nextPageToken": "{url40}"
page-token|next_token = "{b64_40}"
page-token|"NextToken": "{b64_60}"
page-token|--next-token {b64_40}
page-token|--page-token={url32}
page-token|continuation_token: {url40}
page-token|"continuationToken": "{an40}"
page-token|"sync_token": "{url20}="
page-token|GET /v1/items?pageToken={url30}&limit=50
page-token|"next_page_token": "{url30}", "items": []
cursor|"next_cursor": "dXNlcjpV{an12}"
cursor|?cursor={url24}&limit=100
cursor|"endCursor": "Y3Vyc29yOnYyOp{url22}=="
token-count|"max_tokens": 4096, "input_tokens": {dig5}
token-count|total_tokens={dig6} cached_tokens={dig5}
token-count|tokens: {dig5}/{dig6}
token-use|token = tokens[index]
token-use|next_token = lexer.next()
token-use|token_type: bearer
token-use|"token_type": "Bearer", "expires_in": 3600
token-use|for token in tokenizer.tokenize(text):
token-use|tokenizer: cl100k_base
token-use|csrf_token()
token-use|self.token = token
sha1|commit {hex40}
sha1|{hex7} Fix the token parser
sha1|index {hex7}..{hex7} 100644
sha1|HEAD is now at {hex7} wip
sha256|sha256:{hex64}
sha256|{hex64}  release.tar.gz
sha256|FROM python@sha256:{hex64}
sha256|"integrity": "sha512-{b64_86}=="
sha256|--hash=sha256:{hex64}
md5|{hex32}  a.iso
md5|ETag: "{hex32}"
uuid|id: {uuid}
uuid|"sessionId": "{uuid}"
uuid|request {uuid} took 4 ms
uuid|/subscriptions/{uuid}/resourceGroups/x
identifier|toolu_01{an22}
identifier|"id": "msg_01{an22}"
identifier|call_{an24}
identifier|chatcmpl-{an29}
identifier|req_{an24}
identifier|arn:aws:iam::{dig12}:role/deploy
identifier|i-0{hex17} running
identifier|vpc-0{hex16}
identifier|cus_{an14} paid
identifier|price_{an24}
identifier|AC{hex32}
identifier|G-{up10}
identifier|UA-{dig8}-1
identifier|trace_id={hex32} span_id={hex16}
identifier|traceparent: 00-{hex32}-{hex16}-01
identifier|0x{HEX8} in main ()
identifier|0x{hex40}
identifier|bc1q{bech38}
public-key|ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{b64_43} me@host
public-key|ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAB{b64_340} me@host
public-key|PublicKey = {b64_43}=
public-key|pk_live_{an24}
public-key|-----BEGIN PUBLIC KEY-----\n{b64_64}\n{b64_64}\n-----END PUBLIC KEY-----
public-key|SHA256:{b64_43}
public-key|-----BEGIN CERTIFICATE-----\nMIID{b64_60}\n{b64_64}\n{b64_64}\n{b64_20}==\n-----END CERTIFICATE-----
public-key|-----BEGIN PGP SIGNATURE-----\n\n{b64_64}\n{b64_64}\n=AbCd\n-----END PGP SIGNATURE-----
image|data:image/png;base64,iVBORw0KGgo{b64_600}
image|<img src="data:image/gif;base64,R0lGODlh{b64_200}">
image|"data": "/9j/4AAQSkZJRg{b64_600}"
image|file_{an24}.png
placeholder|API_KEY=your-api-key-here
placeholder|API_KEY=<your api key>
placeholder|export OPENAI_API_KEY="sk-..."
placeholder|OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxx
placeholder|password=********
placeholder|password: <redacted>
placeholder|PASSWORD=
placeholder|password=""
placeholder|"password": null,
placeholder|"token": "",
placeholder|api_key=None
placeholder|mysql -u root -p
placeholder|mysql -u root -p {db}
placeholder|psql -U {user} -h {host} {db}
placeholder|curl -u user:<password> https://{host}/
placeholder|sshpass -p <password> ssh {user}@{host}
placeholder|https://<user>:<password>@{host}/
placeholder|--password PASSWORD
placeholder|--password=<password>
placeholder|Usage: tool --token TOKEN --password PASSWORD
placeholder|ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
placeholder|AKIAXXXXXXXXXXXXXXXX
placeholder|Authorization: Bearer <token>
placeholder|Authorization: Bearer YOUR_TOKEN
function|def get_password(user: str) -> str:
function|password = get_password(user)
function|password = getpass.getpass("Password: ")
function|token = request.headers.get("Authorization")
function|if not verify_password(password, user.password_hash):
function|user.set_password(form.password.data)
function|const token = await getToken();
function|const apiKey = process.env.API_KEY;
function|api_key = os.environ["OPENAI_API_KEY"]
function|api_key=os.getenv("OPENAI_API_KEY")
function|secret := os.Getenv("CLIENT_SECRET")
function|String password = System.getenv("DB_PASSWORD");
function|let token = std::env::var("TOKEN")?;
function|password: str = Field(min_length=8)
function|password: string;
function|password?: string
function|interface Login { password: string; token: string }
function|secret_key = config.secret_key
function|this.password = password;
function|password = data["password"]
function|auth=(user, password)
function|requests.get(url, auth=HTTPBasicAuth(user, password))
function|Client(api_key=api_key, token=self.token)
function|private_key = load_private_key(path)
function|export const TOKEN_EXPIRED = "token_expired";
function|password_field.send_keys(password)
function|<input type="password" name="password" id="password">
function|assert response.json()["password"] == "is too short"
function|raise ValueError("password must not be empty")
function|token: Token = self.advance()
function|secretKeyRef:\n  name: db\n  key: password
function|"password": {"type": "string", "minLength": 8}
function|"required": ["username", "password"]
function|PASSWORD_MIN_LENGTH = 12
function|password_reset_timeout = 3600
function|SELECT password_hash FROM users WHERE id = 1;
function|password VARCHAR(255) NOT NULL,
function|ALTER USER app PASSWORD NULL;
function|PasswordAuthentication no
function|PermitRootLogin prohibit-password
function|auth required pam_unix.so
path|--password-file /run/secrets/db
path|POSTGRES_PASSWORD_FILE=/run/secrets/db
path|GOOGLE_APPLICATION_CREDENTIALS=/home/me/key.json
path|SSH_KEY_PATH=~/.ssh/id_ed25519
path|ssh -i ~/.ssh/id_ed25519 {user}@{host}
path|ansible-playbook --vault-password-file ~/.vault a.yml
path|cat ~/.pgpass
path|curl --netrc-file ~/.netrc https://{host}/
path|-rw------- 1 me me 42 May  1 12:00 .pgpass
path|src/auth/password_reset_token_generator.py
path|token_file: /var/run/secrets/kubernetes.io/serviceaccount/token
path|docker run -p 8080:80 -v /a:/b nginx:1.25
path|docker run -p 127.0.0.1:5432:5432 postgres
path|mkdir -p build/release-2026
path|ssh -p 2222 {user}@{host}
path|cp -p a b
path|grep -P '\d+' a.txt
path|ps -p {dig5}
path|tar -xpf a.tar
path|patch -p1 < a.diff
path|unzip -p a.zip README.md
path|netstat -u -p tcp
path|scp -P 2222 a {user}@{host}:/tmp/
path|nmap -p 22-443 {host}
path|python -u script.py
path|sort -u names.txt
path|git push -u origin main
path|date -u +%Y:%m
path|id -u {user}
path|journalctl -u nginx:main
path|docker run -u 1000:1000 alpine
path|docker exec -u {user}:staff web sh
path|chown --user {user}:staff a
path|echo hello \| sudo tee a.txt
path|echo done \| cat
path|redis-cli -h {host} ping
path|openssl enc -k
path|zip -r a.zip a
url|https://example.com/a/b?q=token
url|https://example.com:8443/path@v1.2.3
url|https://{host}/?next=/login&lang=en
url|git@github.com:acme/x.git
url|ssh://git@{host}:2222/x.git
url|https://{user}@{host}/x
url|postgres://{user}@{host}/{db}
url|redis://{host}:6379/0
url|https://unpkg.com/react@18.2.0/umd/react.js
url|http://localhost:3000/@vite/client
url|https://github.com/acme/x/blob/{hex40}/a.py#L10
url|https://medium.com/@someone/a-title-{hex12}
url|npm install @types/node@20.1.0
colons|12:30:45:001:thread started
colons|src/a.py:12:5:error:name
colons|a:b:c:d:e
colons|127.0.0.1:5432: connection refused
colons|root:x:0:0:root:/root:/bin/bash
colons|{host}:5432 accepting connections
colons|fe80::1ff:fe23:4567:890a
colons|00:1b:44:11:3a:b7
colons|drwx:user:group:2026:file
colons|test_a.py:120:4:E501:line too long
colons|at Object.parse (/a/b.js:12:34:56)
colons|urn:isbn:0451450523:page:12
prose|The password is stored as a hash and never logged.
prose|Password: must contain twelve characters
prose|The token is invalid or has expired.
prose|The secret is to start early.
prose|My passphrase was wrong again, so I reset it.
prose|Enter your password and press Return.
prose|The API key is read from the environment.
prose|Forgot password? Use the link.
prose|password: required
prose|Authorization: Bearer tokens are described below.
prose|Basic authentication is disabled by default.
prose|The key lies behind the door of the old house near the garden gate
prose|open the garden gate and walk around the old stone house until you see the river
prose|these people often travel across the desert with camels during winter when water freezes
prose|abandon ability able about above absent absorb abstract absurd abuse access accident account accuse achieve
prose|Sign in with your user name and password, then copy the token.
prose|user: {user}, password: (hidden)
prose|the wifi password is on the router
prose|a mnemonic of twelve or twenty four words is called a seed phrase and must be written on paper
prose|Generated password was sent by mail.
base64|LS0gaGVsbG8g{b64_40}
base64|"content": "{b64_76}\n{b64_76}\n"
base64|{b64_76}\n{b64_76}\n{b64_76}\n{b64_20}==
base64|"encrypted_content": "gAAAAAB{url400}"
base64|"signature": "{b64_300}=="
base64|sourceMappingURL=data:application/json;base64,{b64_200}
lock|resolved "https://registry.yarnpkg.com/x/-/x-1.0.0.tgz#{hex40}"
lock|github.com/x/y v1.2.3 h1:{b64_43}=
lock|checksum = "{hex64}"
lock|"version": "1.0.0-beta.{dig4}+{hex8}"
option|COMPASS=north make maps
option|BYPASS=localhost run
option|--bypass=everything --compass=magnetic
option|FAIL_PASS=always
option|[messages]\npassword = "use at least 8 characters"
option|https://{host}/login?password=reset&user=1
option|docker run -e POSTGRES_PASSWORD=postgres postgres:16
option|"scripts": {"list": "x --password-stdin"}
option|nouns = ["forest", "river", "mountain", "meadow", "ocean", "desert", "island", "castle", "village", "city", "bridge", "tower", "garden"]
css|.btn-secret { color: #{hex6}; }
css|--token-color-primary: #{hex6};
css|sk-folding-cube sk-circle-fade-dot-{dig2}
css|class="hf_container key-column-{dig2}"
css|re_compiled_pattern_cache_size_limit
""".strip().splitlines()
