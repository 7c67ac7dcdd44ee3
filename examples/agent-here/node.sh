#!/usr/bin/env bash
# Makes this machine a node of the local world, beside its own sshd and without touching that: a second sshd on 127.0.0.1:8094, with settings, a PAM
# file, accounts and an agent of its own. For trying; a real node is set up as docs/guides/node-agent.md says.
# Usage: examples/agent-here/node.sh up TOKEN_FILE | status | down
set -euo pipefail
[ "$(id -u)" = 0 ] || exec sudo -- "${BASH_SOURCE[0]}" "$@"
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."

name=gatehouse-try
# Not below a folder that everybody may write to: sshd would not read keys there.
folder=/var/lib/$name
port=${TRY_SSH_PORT:-8094}
node=$PWD/node_modules/.bin/node
agent() { PATH=/usr/sbin:/usr/bin:/sbin:/bin "$node" "$folder/gatehouse-agent.mjs" "$@" --config "$folder/agent.json"; }
fail() { echo "$1" >&2; exit 1; }
ended() { for _ in $(seq 100); do kill -0 "$1" 2>/dev/null || return 0; sleep 0.1; done; return 1; }

up() {
  local token_file=${1:?name the file with the enrolment token}
  [ ! -e "$folder" ] || fail "$folder is there already: examples/agent-here/node.sh down"
  [ -x /usr/sbin/sshd ] || fail 'There is no /usr/sbin/sshd: apt-get install openssh-server (its service need not run).'
  [ -x "$node" ] || fail 'Run npm start first: it installs what the agent is built with.'
  install -d -m 0755 "$folder" "$folder/homes" /run/sshd
  node_modules/.bin/node tools/launch.mjs tools/bundle-agent.ts > /dev/null
  install -m 0755 agent/dist/gatehouse-agent.mjs "$folder/gatehouse-agent.mjs"
  # PAM looks for the file that is called as the program was.
  ln -s /usr/sbin/sshd "$folder/$name"
  install -m 0644 /etc/pam.d/sshd "/etc/pam.d/$name"
  ssh-keygen -q -t ed25519 -N '' -f "$folder/host_key"
  cat > "$folder/sshd_config" <<SETTINGS
Include $folder/drop-in.conf
Port $port
ListenAddress 127.0.0.1
HostKey $folder/host_key
PidFile $folder/sshd.pid
UsePAM yes
PasswordAuthentication no
KbdInteractiveAuthentication no
PrintMotd no
SETTINGS
  cat > "$folder/agent.json" <<SETTINGS
{
  "state_dir": "$folder/state",
  "layout": {
    "keys_dir": "$folder/keys", "sessions_dir": "$folder/sessions", "cgroup_dir": null, "hook": "$folder/hook", "homes_dir": "$folder/homes",
    "group": "$name", "first_uid": 1990000000,
    "sshd": {
      "program": "$folder/$name", "config": "$folder/sshd_config", "drop_in": "$folder/drop-in.conf",
      "pam": "/etc/pam.d/$name", "pid_file": "$folder/sshd.pid"
    }
  }
}
SETTINGS
  agent prepare
  "$folder/$name" -f "$folder/sshd_config" -E "$folder/sshd.log"
  agent enrol --token-file "$token_file"
  (PATH=/usr/sbin:/usr/bin:/sbin:/bin exec setsid "$node" "$folder/gatehouse-agent.mjs" run --config "$folder/agent.json" < /dev/null > /dev/null 2>> "$folder/agent.log") &
  echo $! > "$folder/agent.pid"
  for _ in $(seq 100); do agent status | grep -q connected && break; sleep 0.1; done
  agent status
}

down() {
  [ -e "$folder" ] || fail "There is no $folder."
  local pid
  if [ -e "$folder/agent.pid" ]; then pid=$(cat "$folder/agent.pid"); kill "$pid" 2>/dev/null || true; ended "$pid" || fail "The agent ($pid) does not stop."; fi
  agent clear || fail 'Accounts are left; see above.'
  if [ -e "$folder/sshd.pid" ]; then pid=$(cat "$folder/sshd.pid"); kill "$pid" 2>/dev/null || true; ended "$pid" || fail "The sshd ($pid) does not stop."; fi
  rm -rf "$folder" "/etc/pam.d/$name"
  groupdel "$name" 2>/dev/null || true
  echo 'Nothing of it is left on this machine.'
}

case ${1:-} in
  up) up "${2:-}" ;;
  status) agent status ;;
  down) down ;;
  *) fail 'Usage: examples/agent-here/node.sh up TOKEN_FILE | status | down' ;;
esac
