import type { Layout } from './layout.ts'

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/**
 * What PAM runs, as root, when a session of a managed account opens and closes. It writes down which key opened which session, and gives
 * each a control group, from which nothing that the session starts can step out.
 *
 * A key that is taken away while its owner logs in meets him here: the agent first writes the keys and then looks for sessions, the hook
 * first writes the session and then looks for the key. One of both sees the other.
 */
export const sessionHook = ({ keys_dir, sessions_dir, cgroup_dir }: Layout): string => `#!/bin/sh
# Written by gatehouse-agent. Run by PAM, as root, for managed accounts only.
set -uf
umask 077
sessions=${quoted(sessions_dir)}
keys=${quoted(keys_dir)}
groups=${quoted(cgroup_dir ?? '')}

refuse() {
  # A session that nobody could answer for does not begin.
  [ "\${PAM_TYPE:-}" = open_session ] && kill -KILL "$PPID"
  exit 1
}

user=\${PAM_USER:-}
case "$user" in
  gh-*[!a-z0-9]*) refuse ;;
  gh-*) ;;
  *) exit 0 ;;
esac

stat=$(cat "/proc/$PPID/stat") || refuse
set -- \${stat##*) }
shift 19
session="$PPID.$1"

if [ "\${PAM_TYPE:-}" = close_session ]; then
  [ -f "$sessions/$session" ] && mv "$sessions/$session" "$sessions/$session.closed"
  exit 0
fi
[ "\${PAM_TYPE:-}" = open_session ] || exit 0

set -- \${SSH_AUTH_INFO_0:-}
[ "$#" = 3 ] && [ "$1" = publickey ] || refuse
type=$2
blob=$3
group=none
if [ -n "$groups" ] && mkdir "$groups/$session" 2> /dev/null; then
  if echo "$PPID" > "$groups/$session/cgroup.procs" 2> /dev/null; then group=$session; else rmdir "$groups/$session"; fi
fi
printf '%s\\n' "$user" "$type" "$blob" "\${PAM_RHOST:-}" "$group" "$(date -u +%Y-%m-%dT%H:%M:%S.000Z)" > "$sessions/.$session" || refuse
mv "$sessions/.$session" "$sessions/$session" || refuse
grep -qF -- "$type $blob " "$keys/$user" 2> /dev/null || refuse
exit 0
`

/** For other accounts the hook is skipped, not run: whatever becomes of it, the node's own people get in. */
export const pamLines = ({ group, hook }: Layout): string =>
  [
    '# gatehouse-agent: begin',
    `session [success=ignore default=1] pam_succeed_if.so quiet user ingroup ${group}`,
    `session required pam_exec.so quiet ${hook}`,
    '# gatehouse-agent: end',
    '',
  ].join('\n')
