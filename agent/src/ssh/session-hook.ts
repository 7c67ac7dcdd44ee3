import { unitOf } from './cgroup.ts'
import { groupsFileOf, type Layout } from './layout.ts'

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/**
 * What PAM runs, as root, when a session of a managed account opens. It writes down which key opened which session, and gives each a control
 * group, from which nothing that the session starts can step out. It needs no agent: a session that begins while none runs has its group,
 * its devices and its bounds, too.
 *
 * A key that is taken away while its owner logs in meets him here: the agent first writes the keys and then looks for sessions, the hook
 * first writes the session and then looks for the key. One of both sees the other.
 *
 * sshd lets a session begin though PAM would not, so a refusal ends the process that serves the connection.
 */
export const sessionHook = (layout: Layout): string => `#!/bin/sh
# Written by gatehouse-agent. Run by PAM, as root, for managed accounts only.
set -uf
PATH=/usr/sbin:/usr/bin:/sbin:/bin
IFS=' 	
'
umask 077
sessions=${quoted(layout.sessions_dir)}
keys=${quoted(layout.keys_dir)}
[ "\${PAM_TYPE:-}" = open_session ] || exit 0

# By sshd alone, as root: what else runs it is not told that a session is well, and is not ended either.
server=$(readlink "/proc/$PPID/exe") || exit 1
case "\${server##*/}" in sshd | sshd-session | 'sshd (deleted)' | 'sshd-session (deleted)') ;; *) exit 1 ;; esac
owner=
while read -r name owner rest; do [ "$name" = Uid: ] && break; done < "/proc/$PPID/status"
[ "$owner" = 0 ] || exit 1

# A session that nobody could answer for does not begin.
refuse() {
  kill -KILL "$PPID"
  exit 1
}

user=\${PAM_USER:-}
case "$user" in
  gh-*[!a-z0-9]*) refuse ;;
  gh-?*) ;;
  *) refuse ;;
esac
set -- \${SSH_AUTH_INFO_0:-}
[ "$#" = 3 ] && [ "$1" = publickey ] || refuse
type=$2
blob=$3

# The process that serves the connection, when it was started, and in which run of the system: together they never come again.
read -r stat < "/proc/$PPID/stat" || refuse
read -r boot < /proc/sys/kernel/random/boot_id || refuse
set -- \${stat##*) }
shift 19
session="$PPID.$1.\${boot%%-*}"

[ -d "$sessions" ] || mkdir -p "$sessions" || refuse
groups= made_by= group=none account=
if [ -f ${quoted(groupsFileOf(layout))} ]; then
  { read -r groups; read -r made_by; } < ${quoted(groupsFileOf(layout))}
fi
sessions_max=0 tasks_max=4096
if [ -f "$sessions/.bounds-$user" ]; then
  read -r sessions_max tasks_max < "$sessions/.bounds-$user"
fi
if [ "$made_by" = systemd ]; then
  # Its devices and bounds are systemd's to hold it to. One in which nothing runs is none of systemd's.
  account="$groups/${unitOf('$user')}" holder=
  [ -f "$account/cgroup.procs" ] && read -r holder < "$account/cgroup.procs"
  [ -n "$holder" ] || systemctl start "${unitOf('$user')}" || refuse
  mkdir "$account/$session" && echo "$PPID" > "$account/$session/cgroup.procs" || refuse
  group=$account/$session
  # Where the system has hierarchies of the older kind beside, bounds and devices are held there.
  set +f
  for other in /sys/fs/cgroup/*/gatehouse.slice/"${unitOf('$user')}"; do
    [ "$other" = "$account" ] || [ ! -f "$other/cgroup.procs" ] || echo "$PPID" > "$other/cgroup.procs" || refuse
  done
  set -f
elif [ -n "$groups" ]; then
  account=$groups/$user
  if mkdir -p "$account/$session" 2> /dev/null; then
    if echo "$PPID" 2> /dev/null > "$account/$session/cgroup.procs"; then
      group=$account/$session
    else
      rmdir "$account/$session"
    fi
  fi
fi
# Counted with this one in it, so that of two that come at once none slips through; those that only wait to be tidied up do not count.
if [ "$group" != none ] && [ "$sessions_max" -gt 0 ]; then
  set +f
  live=$(grep -lx 'populated 1' "$account"/*/cgroup.events 2> /dev/null | wc -l)
  set -f
  [ "$live" -le "$sessions_max" ] || refuse
fi
# The same bound by the account's number: it holds also where the kernel cannot count the processes of a group.
prlimit --pid "$PPID" "--nproc=$tasks_max" || refuse
printf '%s\\n' "$user" "$type" "$blob" "\${PAM_RHOST:-}" "$group" "$(date -u +%Y-%m-%dT%H:%M:%S.%3NZ)" > "$sessions/.$session" || refuse
mv "$sessions/.$session" "$sessions/$session" || refuse
line=$(grep -m 1 -F -- "$type $blob " "$keys/$user" 2> /dev/null) || refuse
# Its end may have come since sshd looked; the second that is named is the last.
case "$line" in
  *expiry-time=\\"*)
    end=\${line#*expiry-time=\\"}
    end=\${end%%Z\\"*}
    case "$end" in *[!0-9]* | '') refuse ;; esac
    [ "$(date -u +%Y%m%d%H%M%S)" -le "$end" ] || refuse
    ;;
esac
exit 0
`
