#!/usr/bin/env bash
# A production site on a network of its own, for the first hour: names, ports, certificates, a PostgreSQL with TLS and an identity provider, as the
# guide calls them. Run in new namespaces (mount, net, pid, ipc); then runs the words after the folder and the Node in it.
# Usage: production-place.sh FOLDER NODE WORDS...
set -euo pipefail
folder=$1 node=$2
shift 2
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
cd "$folder"
ip link set lo up
echo '127.0.0.1 localhost db.example.com sso.example.com gatehouse.example.com' > hosts
mount --bind hosts /etc/hosts

new_key=(-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes)
openssl req -x509 -days 2 "${new_key[@]}" -keyout root.key -out root.crt -subj '/CN=root of a test' 2> /dev/null
openssl req "${new_key[@]}" -keyout site.key -out site.csr -subj /CN=site 2> /dev/null
openssl x509 -req -days 2 -in site.csr -CA root.crt -CAkey root.key -CAcreateserial -out site.crt \
  -extfile <(echo 'subjectAltName=DNS:db.example.com,DNS:sso.example.com') 2> /dev/null
install -D -m 0644 root.crt .postgresql/root.crt

programs=/usr/lib/postgresql/15/bin
as_postgres=(setpriv --reuid postgres --regid postgres --clear-groups)
install -d -o postgres -m 0700 database
install -o postgres -m 0600 site.key database.key
"${as_postgres[@]}" $programs/initdb -D database -U postgres --auth=trust --no-sync > /dev/null
printf 'host all postgres 127.0.0.1/32 trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n' > database/pg_hba.conf
"${as_postgres[@]}" $programs/postgres -D database -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off \
  -c ssl=on -c ssl_cert_file="$folder/site.crt" -c ssl_key_file="$folder/database.key" > database.log 2>&1 &
"$node" "$here/provider.ts" "$folder" > provider.log 2>&1 &
for _ in $(seq 300); do
  [ -e owner.token ] && $programs/pg_isready -q -h 127.0.0.1 && break
  sleep 0.1
done
cd "$here/../.."
exec "$@"
