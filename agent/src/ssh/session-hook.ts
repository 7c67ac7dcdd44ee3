import { groupsFileOf, type Layout } from './layout.ts'

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/**
 * What PAM runs, as root, when a session of a managed account opens. It writes down which key opened which session, and gives each a control
 * group, from which nothing that the session starts can step out.
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
groups=
[ -f ${quoted(groupsFileOf(layout))} ] && read -r groups < ${quoted(groupsFileOf(layout))}
group=none
if [ -n "$groups" ] && mkdir "$groups/$session" 2> /dev/null; then
  if echo "$PPID" 2> /dev/null > "$groups/$session/cgroup.procs"; then group=$groups/$session; else rmdir "$groups/$session"; fi
fi
printf '%s\\n' "$user" "$type" "$blob" "\${PAM_RHOST:-}" "$group" "$(date -u +%Y-%m-%dT%H:%M:%S.%3NZ)" > "$sessions/.$session" || refuse
mv "$sessions/.$session" "$sessions/$session" || refuse
grep -qF -- "$type $blob " "$keys/$user" 2> /dev/null || refuse
exit 0
`
