"""What a terminal shows: commands with passwords, and the files that programs keep them in. «…» marks a secret."""

COMMANDS = r"""
mysql-short|mysql -u root -p«{pw}» {db}
mysql-short|mysql -h {host} -uroot -p'«{pw}»' -e 'show tables'
mysqldump|mysqldump -u{user} -p«{pw}» {db} > dump.sql
mysqladmin|mysqladmin -u root -p"«{pw}»" ping
mysql-long|mysql --user={user} --password=«{pw}» {db}
mysql-long-word|mysql --user={user} --password=«{word}» {db}
password-option-quoted|backup --host {host} --password='«{phrase}»' --all
password-option-quoted|backup --password="«{phrase}»" --all
password-option-space|mongosh --host {host} --username admin --password «{pw}»
password-option-word|mongosh -u admin --password «{word}» --eval 'db.stats()'
password-option-symbols|app --password=«{an5}^{an5}» --verbose
pgpassword|PGPASSWORD=«{pw}» psql -h {host} -U {user} {db}
pgpassword|PGPASSWORD='«{pw}»' pg_dump -h {host} {db}
pgpassword-export|export PGPASSWORD=«{word}»
psql-conninfo|psql "host={host} user={user} password=«{pw}» dbname={db}"
psql-conninfo-word|psql "host={host} port=5432 user={user} password=«{word}» dbname={db}"
psql-url|psql postgresql://{user}:«{pw}»@{host}:5432/{db}
psql-url-word|psql postgres://{user}:«{word}»@{host}/{db}
mysql-url|DATABASE_URL=mysql://{user}:«{pw}»@{host}:3306/{db}
mongo-url|mongosh "mongodb+srv://{user}:«{pw}»@cluster0.{low5}.mongodb.net/{db}"
redis-url|redis-cli -u redis://:«{pw}»@{host}:6379/0
amqp-url|export BROKER=amqp://{user}:«{word}»@{host}:5672//
sqlalchemy-url|engine = create_engine("postgresql+psycopg2://{user}:«{pw}»@{host}/{db}")
ftp-url|wget ftp://{user}:«{word}»@{host}/pub/a.tgz
sshpass-space|sshpass -p «{pw}» ssh {user}@{host}
sshpass-word|sshpass -p «{word}» ssh {user}@{host} uptime
sshpass-joined|sshpass -p«{pw}» scp a {user}@{host}:/tmp/
sshpass-quoted|sshpass -p '«{pw}»' ssh -o StrictHostKeyChecking=no {user}@{host}
sshpass-quoted|sshpass -p "«{phrase}»" rsync -a . {user}@{host}:/srv
sshpass-environment|SSHPASS=«{pw}» sshpass -e ssh {user}@{host}
curl-u|curl -u {user}:«{pw}» https://{host}/api
curl-u-word|curl -s -u {user}:«{word}» https://{host}/api
curl-u-quoted|curl -sS -u '{user}:«{pw}»' https://{host}/api
curl-u-joined|curl -u{user}:«{pw}» https://{host}/
curl-user|curl --user {user}:«{pw}» https://{host}/
curl-user-word|curl --user {user}:«{word}» https://{host}/
curl-user-equals|curl --user="{user}:«{pw}»" https://{host}/
curl-user-quoted|curl -X POST --user "{user}:«{pw}»" -d @a.json https://{host}/
curl-user-key|curl https://api.stripe.com/v1/charges -u «sk_live_{an24}»:
curl-user-behind|curl https://{host}/job/build --user {user}:«11{hex32}»
curl-proxy-user|curl --proxy-user {user}:«{pw}» -x http://proxy:3128 https://{host}/
curl-proxy-short|curl -x http://proxy:3128 -U {user}:«{pw}» https://{host}/
curl-proxy-url|curl -x http://{user}:«{word}»@proxy:3128 https://{host}/
curl-bearer|curl -H "Authorization: Bearer «{an40}»" https://{host}/v1
curl-bearer|curl -H 'Authorization: Bearer «{jwt}»' https://{host}/v1
curl-token-header|curl -H 'Authorization: token «{hex40}»' https://{host}/v1
curl-basic|curl -H "Authorization: Basic «{basic}»" https://{host}/v1
curl-api-key|curl -H 'X-Api-Key: «{an32}»' https://{host}/v1
curl-api-key|curl -H "apikey: «{an32}»" https://{host}/v1
curl-private-token|curl --header "PRIVATE-TOKEN: «{an20}»" https://{host}/v1
curl-auth-token|curl -H 'X-Auth-Token: «{hex32}»' https://{host}/v1
curl-vault|curl -H "X-Vault-Token: «s.{an24}»" https://{host}/v1
curl-cookie|curl -H 'Cookie: sessionid=«{low32}»' https://{host}/
curl-cookie|curl -b 'session_token=«{an40}»' https://{host}/
curl-oauth2|curl --oauth2-bearer «{an40}» https://{host}/
curl-form|curl -d 'grant_type=password&username={user}&password=«{pw}»' https://{host}/token
curl-form-word|curl -d "username={user}&password=«{word}»" https://{host}/login
curl-form-first|curl -d 'password=«{pw}»&username={user}' https://{host}/login
curl-form-first|curl -d "password=«{word}»&login={user}" https://{host}/login
curl-form-secret|curl -d client_id=web -d client_secret=«{an32}» https://{host}/token
curl-form-encoded|curl --data-urlencode "password=«{pw}»" https://{host}/login
curl-json|curl -d '{"user": "{user}", "password": "«{pw}»"}' https://{host}/login
curl-json-escaped|curl -d "{\"user\": \"{user}\", \"password\": \"«{pw}»\"}" https://{host}/login
curl-query|curl "https://{host}/v1?api_key=«{hex32}»&q=1"
curl-query|curl 'https://{host}/v1/x?access_token=«{an40}»'
curl-url|curl https://{user}:«{pw}»@{host}/x
curl-url-word|curl https://{user}:«{word}»@{host}/x
wget-password|wget --user={user} --password=«{pw}» https://{host}/a
wget-http-password|wget --http-user={user} --http-password='«{pw}»' https://{host}/a
wget-header|wget --header="Authorization: Bearer «{an40}»" https://{host}/a
httpie|http -a {user}:«{pw}» GET https://{host}/x
httpie-header|http GET https://{host}/x "Authorization: Bearer «{an40}»"
docker-login|docker login -u {user} -p «{pw}» registry.{host}
docker-login|docker login registry.acme.io -u {user} -p «dckr_pat_{url27}»
docker-login-long|docker login --username {user} --password «{pw}» registry.{host}
docker-login-stdin|echo «{pw}» | docker login -u {user} --password-stdin
docker-login-stdin|echo "«{pw}»" | docker login -u {user} --password-stdin ghcr.io
podman-login|podman login -u {user} -p «{pw}» quay.io
helm-login|helm registry login -u {user} -p «{pw}» {host}
docker-run|docker run -d -e POSTGRES_PASSWORD=«{pw}» -p 5432:5432 postgres:16
docker-run-word|docker run -e MYSQL_ROOT_PASSWORD=«{word}» mysql
docker-run|docker run --env MYSQL_ROOT_PASSWORD="«{pw}»" mysql
docker-auth|"auths": {"registry.acme.io": {"auth": "«{basic}»"}}
sudo-stdin|echo «{pw}» | sudo -S apt-get update
sudo-stdin|echo '«{pw}»' | sudo -S systemctl restart nginx
sudo-here|sudo -S ls <<< '«{pw}»'
helm-set|helm install db bitnami/postgresql --set auth.password=«{pw}»
helm-set|helm upgrade app . --set global.postgresql.auth.postgresPassword=«{pw}»,image.tag=1
kubectl-literal|kubectl create secret generic db --from-literal=password=«{pw}»
kubectl-literal|kubectl create secret generic db --from-literal=username={user} --from-literal=password='«{pw}»'
kubectl-registry|kubectl create secret docker-registry r --docker-username={user} --docker-password=«{pw}»
kubectl-token|kubectl --token=«{jwt}» get pods
kubernetes-secret|kind: Secret\ndata:\n  password: «{basic}»\n
kubeconfig|    client-key-data: «LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQ{b64_240}»
redis-cli|redis-cli -h {host} -a «{pw}» ping
redis-cli-pass|redis-cli -h {host} --pass «{pw}» ping
redis-conf|requirepass «{pw}»
redis-auth|127.0.0.1:6379> AUTH «{pw}»
mongo-short|mongo {host}/{db} -u admin -p «{pw}»
mongo-short|mongodump -u admin -p '«{pw}»' --out /b
sqlcmd|sqlcmd -S {host} -U sa -P «{pw}» -Q 'select 1'
sqlcmd|/opt/mssql-tools/bin/sqlcmd -S localhost -U sa -P '«{pw}»'
ldapsearch|ldapsearch -x -D cn=admin,dc=acme -w «{pw}» -b dc=acme
ldapadd|ldapadd -x -D cn=admin,dc=acme -w '«{pw}»' -f a.ldif
smbclient|smbclient //{host}/share -U {user}%«{pw}»
smb-mount|mount -t cifs //{host}/s /mnt -o username={user},password=«{pw}»
smb-mount-word|mount -t cifs //{host}/s /mnt -o user={user},pass=«{word}»,uid=1000
net-use|net use Z: \\{host}\s /user:{user} «{pw}»
openssl-pass|openssl rsa -in a.pem -passin pass:«{pw}» -out b.pem
openssl-pass|openssl enc -aes-256-cbc -in a -out b -pass pass:«{pw}»
openssl-k|openssl enc -aes-256-cbc -in a -out b -k «{pw}»
gpg|gpg --batch --passphrase «{pw}» -d a.gpg
gpg|gpg --batch --yes --passphrase='«{phrase}»' -c a
keytool|keytool -genkey -keystore a.jks -storepass «{pw}» -keypass «{pw}»
jarsigner|jarsigner -keystore a.jks -storepass '«{pw}»' app.jar me
ssh-keygen|ssh-keygen -t ed25519 -N '«{pw}»' -f id
zip|zip -P «{pw}» a.zip a
unzip|unzip -P '«{pw}»' a.zip
7z|7z x -p«{pw}» a.7z
ansible|ansible-playbook site.yml -e ansible_password=«{pw}»
ansible-extra|ansible-playbook site.yml --extra-vars "ansible_become_pass=«{pw}» x=1"
export-token|export API_TOKEN=«{an32}»
export-word|export DB_PASSWORD=«{word}»
fish|set -x API_TOKEN «{an32}»
fish|set -gx DB_PASSWORD «{pw}»
powershell|$env:API_KEY = "«{an32}»"
powershell-secure|ConvertTo-SecureString "«{pw}»" -AsPlainText -Force
cmd-set|set DB_PASSWORD=«{pw}»
setx|setx API_KEY "«{an32}»"
csh|setenv DB_PASSWORD «{pw}»
aws-configure|aws configure set aws_secret_access_key «{b64_40}»
aws-credentials|[default]\naws_access_key_id = «AKIA{b32_16}»\naws_secret_access_key = «{b64_40}»
aws-prompt|AWS Secret Access Key [None]: «{b64_40}»
az-login|az login --service-principal -u {uuid} -p «{an3}8Q~{url34}» --tenant {uuid}
az-login|az login -u {user} -p «{pw}»
heroku-config|heroku config:set STRIPE_SECRET=«{an32}»
fly-secrets|fly secrets set DATABASE_PASSWORD=«{pw}»
gh-login|echo «ghp_{an36}» | gh auth login --with-token
npm-set|npm config set //registry.npmjs.org/:_authToken «{uuid}»
npmrc|//registry.npmjs.org/:_authToken=«{uuid}»
npmrc-auth|_auth=«{basic}»
pip-url|pip install --index-url https://{user}:«{pw}»@pypi.acme.io/simple x
twine|twine upload -u {user} -p «{pw}» dist/*
pypirc|[pypi]\nusername = {user}\npassword = «{pw}»
poetry|poetry config http-basic.acme {user} «{pw}»
git-clone|git clone https://{user}:«{pw}»@git.acme.dev/x.git
git-clone-word|git clone https://{user}:«{word}»@git.acme.dev/x.git
git-clone-token|git clone https://«{hex40}»@github.com/acme/x.git
git-oauth2|git clone https://oauth2:«{an20}»@gitlab.com/acme/x.git
git-access|git remote set-url origin https://x-access-token:«ghs_{an36}»@github.com/acme/x
git-remote|origin\thttps://{user}:«{pw}»@git.acme.dev/x.git (fetch)
git-header|git -c http.extraheader="AUTHORIZATION: basic «{basic}»" fetch
git-credentials|https://{user}:«{hex40}»@github.com
vault-login|vault login «hvs.{url24}»
vault-login|vault login s.«{an24}»
vault-put|vault kv put secret/db password=«{pw}»
vault-environment|VAULT_TOKEN=«{uuid}» vault status
terraform-var|terraform apply -var 'db_password=«{pw}»'
terraform-var|terraform plan -var="db_password=«{pw}»"
tfvars|db_password = "«{pw}»"
nmcli|nmcli dev wifi connect HomeNet password «{pw}»
nmcli-word|nmcli device wifi connect "Home Net" password "«{word}»"
nmcli-property|nmcli con modify home wifi-sec.psk «{pw}»
wpa-passphrase|wpa_passphrase HomeNet «{pw}»
wpa-supplicant|network={\n  ssid="HomeNet"\n  psk="«{pw}»"\n}
wpa-supplicant-word|network={\n\tssid="HomeNet"\n\tkey_mgmt=WPA-PSK\n\tpsk="«{phrase}»"\n}
wpa-supplicant-key|network={\n\tssid="HomeNet"\n\tpsk=«{hex64}»\n}
iwctl|iwctl --passphrase «{pw}» station wlan0 connect HomeNet
network-manager|[wifi-security]\nkey-mgmt=wpa-psk\npsk=«{word}»
hostapd|ssid=HomeNet\nwpa=2\nwpa_passphrase=«{word}»
netplan|access-points:\n  "HomeNet":\n    password: "«{phrase}»"
networksetup|networksetup -setairportnetwork en0 HomeNet «{pw}»
windows-wifi|    Key Content            : «{word}»
wifi-qr|WIFI:T:WPA;S:HomeNet;P:«{pw}»;;
netrc|machine {host}\n  login {user}\n  password «{pw}»
netrc-line|machine {host} login {user} password «{word}»
netrc-token|machine api.github.com login {user} password «{hex40}»
pgpass|{host}:5432:{db}:{user}:«{pw}»
pgpass-any|*:*:*:{user}:«{pw}»
pgpass-word|{host}:5432:*:{user}:«{word}»
pgpass-cat|$ cat ~/.pgpass\n{host}:5432:{db}:{user}:«{word}»
my-cnf|[client]\nuser={user}\npassword=«{pw}»
my-cnf-word|[client]\nuser = {user}\npassword = «{word}»\nhost = {host}
ini-quoted|[database]\nuser = {user}\npassword = "«{phrase}»"
ini-semicolon|[mail]\nsmtp_pass = «{pw}» ; rotated in May
ini-spaces|[ftp]\nhost={host}\npasswd = «{pw}»
ini-colon|[svn]\nusername: {user}\npassword: «{word}»
odbc|Driver=ODBC Driver 18;Server={host};UID={user};PWD=«{pw}»;
ado|Server={host};Database={db};User Id={user};Password=«{pw}»;
ado-word|Server=tcp:{host},1433;User ID={user};Password=«{word}»;Encrypt=True;
jdbc|jdbc:sqlserver://{host}:1433;databaseName={db};user={user};password=«{pw}»
jdbc-query|jdbc:postgresql://{host}/{db}?user={user}&password=«{pw}»
azure-connection|DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=«{b64_86}==»;EndpointSuffix=core.windows.net
azure-bus|Endpoint=sb://acme.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=«{b64_43}=»
azure-sas|https://acme.blob.core.windows.net/c?sv=2022-11-02&se=2026-01-01&sig=«{an43}%3D»
aws-presigned|https://b.s3.amazonaws.com/k?X-Amz-Expires=300&X-Amz-Signature=«{hex64}»
htpasswd|htpasswd -b .htpasswd {user} «{pw}»
chpasswd|echo "{user}:«{pw}»" | chpasswd
chpasswd|echo '{user}:«{pw}»' | sudo chpasswd
passwd-stdin|echo "«{pw}»" | passwd --stdin {user}
sql-create|CREATE USER app WITH PASSWORD '«{pw}»';
sql-create-word|CREATE ROLE app LOGIN PASSWORD '«{word}»';
sql-alter|ALTER USER postgres PASSWORD '«{pw}»';
sql-identified|CREATE USER 'app'@'%' IDENTIFIED BY '«{pw}»';
sql-identified|ALTER USER 'root'@'localhost' IDENTIFIED WITH caching_sha2_password BY '«{pw}»';
sql-psql|psql -c "ALTER USER app WITH ENCRYPTED PASSWORD '«{pw}»'"
rabbitmqctl|rabbitmqctl add_user {user} «{pw}»
rabbitmqctl|rabbitmqctl change_password {user} «{pw}»
mosquitto|mosquitto_pub -h {host} -u {user} -P «{pw}» -t a -m b
freerdp|xfreerdp /v:{host} /u:{user} /p:«{pw}»
snmp|snmpwalk -v3 -u {user} -l authPriv -A «{pw}» -X «{pw}» {host}
ipmitool|ipmitool -H {host} -U {user} -P «{pw}» power status
lftp|lftp -u {user},«{pw}» {host}
svn|svn co --username {user} --password «{pw}» https://{host}/r
maven|mvn deploy -Drepo.password=«{pw}»
maven-settings|<server><username>{user}</username><password>«{pw}»</password></server>
gradle|signing.password=«{pw}»
java|java -Djavax.net.ssl.keyStorePassword=«{pw}» -jar a.jar
sonar|sonar-scanner -Dsonar.token=«{hex40}»
cqlsh|cqlsh {host} -u {user} -p «{pw}»
clickhouse|clickhouse-client --host {host} --user {user} --password «{pw}»
influx|influx -username {user} -password «{pw}»
sqlplus|sqlplus {user}/«{pw}»@{db}
expect|send "«{pw}»\r"  # password
prompt|Password: «{pw}»
prompt|Password for {user}: «{pw}»
prompt|Enter passphrase for key '/home/me/.ssh/id': «{pw}»
generated|Generated password: «{an16}»
temporary|A temporary password is generated for root@localhost: «{an6}!{an5}»
security|security add-generic-password -a {user} -s x -w «{pw}»
env-dump|HOME=/home/me\nDB_PASSWORD=«{word}»\nLANG=C.UTF-8\nGITHUB_TOKEN=«ghp_{an36}»
env-dump|PATH=/usr/bin\nSECRET_KEY=«{an50}»\nSMTP_PASS=«{pw}»
docker-inspect|"Env": ["PATH=/usr/bin", "POSTGRES_PASSWORD=«{pw}»", "LANG=C"]
history|  412  export OPENAI_API_KEY=«sk-{an20}T3BlbkFJ{an20}»
history|  413  mysql -uroot -p«{pw}»
ps|root  412  0.0  mysqld_safe --user=mysql --password=«{pw}» --port=3306
trace|+ curl -u {user}:«{pw}» https://{host}/
trace|+ mysql --host={host} --password=«{pw}» --batch
compose|    environment:\n      - MYSQL_ROOT_PASSWORD=«{pw}»
compose|    environment:\n      POSTGRES_PASSWORD: «{word}»
systemd|Environment=DB_PASSWORD=«{pw}»
dockerfile|ENV API_KEY=«{an32}»
dockerfile|ENV DB_PASSWORD «{pw}»
crontab|0 3 * * * PGPASSWORD=«{pw}» pg_dump {db}
rclone|[remote]\ntype = sftp\nuser = {user}\npass = «{url30}»
s3cfg|secret_key = «{b64_40}»
wireguard|[Interface]\nPrivateKey = «{b64_43}=»\nAddress = 10.0.0.2/24
wireguard-preshared|PresharedKey = «{b64_43}=»
putty|Private-Lines: 2\n«{b64_64}\n{b64_64}»\nPrivate-MAC: {hex40}
otpauth|otpauth://totp/Acme:{user}?secret=«{b32_32}»&issuer=Acme
k3s|K3S_TOKEN=«K10{hex64}::server:{hex32}»
kubeadm|kubeadm join {host}:6443 --token «{low6}.{low16}» --discovery-token-ca-cert-hash sha256:{hex64}
sentry-dsn|SENTRY_DSN=https://«{hex32}»@o{dig6}.ingest.sentry.io/{dig7}
restic|RESTIC_PASSWORD='«{phrase}»' restic snapshots
borg|export BORG_PASSPHRASE="«{phrase}»"
set-cookie|Set-Cookie: session=«{an40}»; Path=/; HttpOnly
mail-url|smtp://{user}:«{pw}»@smtp.acme.io:587
composer|"http-basic": {"repo.acme.io": {"username": "{user}", "password": "«{pw}»"}}
nuget|<add key="ClearTextPassword" value="«{pw}»" />
irc|/msg NickServ identify «{pw}»
irc-oauth|PASS oauth:«{low30}»
mikrotik|/ip user set admin password=«{pw}»
cisco|username admin password 0 «{pw}»
""".strip().splitlines()
