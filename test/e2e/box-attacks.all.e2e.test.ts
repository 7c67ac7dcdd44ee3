import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { hasPart } from '../../tools/test/parts.ts'
import { boxFixture } from '../box/place.ts'
import { type LiveSession, logIn, stayIn } from '../ssh/client.ts'
import type { RegisteredPair } from '../ssh/node-place.ts'

/** Tenants who try, from their sessions, to stay, to see others, or to hold others up; and operators who err. */
describe.skipIf(!hasPart('systemd'))('hostile tenants on a node (needs systemd)', () => {
  const story = boxFixture()
  let [owner, member]: RegisteredPair[] = []
  let [mine, other]: { id: string; username: string }[] = []
  beforeAll(async () => {
    const { place, node } = story()
    ;[owner, member] = [await place.pair('asha'), await place.pair('axel')]
    for (let at = 0; at < 2; at += 1) [mine, other] = [other, await place.allocation('asha', node.sku, [owner])]
  })
  const doing = (command: string, more: readonly string[] = []) => logIn(story().box, mine!.username, owner!, command, more)

  test('SG-26 keys: a tenant reads the file of another allocation → refused; a file that was opened is closed again (needs systemd)', async () => {
    const { box, place } = story()
    const file = `/etc/gatehouse-agent/keys/${other!.username}`
    expect((await doing(`cat ${file}`)).said).toContain('Permission denied')
    // Red control: it is the mode that keeps the tenant out; and it comes back.
    await box.sure(`systemctl stop gatehouse-agent; chmod 0644 ${file}`)
    expect((await doing(`cat ${file}`)).said).toContain('ssh-ed25519')
    await box.sure('systemctl start gatehouse-agent')
    await place.until('closed', async () => (await doing(`cat ${file}`)).said.includes('Permission denied'))
  })

  test('SG-26 log: a tenant writes in the agent’s name → not in what the guide calls the agent’s log (needs systemd)', async () => {
    const { box, place } = story()
    const [, command] = /`(journalctl [^`]+)`/.exec(readFileSync('docs/guides/node-agent.md', 'utf8'))!
    // A writer who is gone too soon is nobody's for the journal.
    const write = (text: string) => `systemd-cat -t gatehouse-agent bash -c "echo ${text}; sleep 1"; logger -t gatehouse-agent ${text}`
    await doing(write('forged-by-tenant'))
    const log = () => box.sure(`journalctl --sync; ${command} --no-pager`)
    expect(await log()).not.toContain('forged-by-tenant')
    // Red control: from the agent's own group it would be there.
    const group = '/sys/fs/cgroup/system.slice/gatehouse-agent.service/cgroup.procs'
    await box.sure(`bash -c 'echo $$ > ${group}; ${write('forged-by-root')}'`)
    await place.until('there', async () => (await log()).includes('forged-by-root'))
  })

  const plans = {
    crontab: `echo '* * * * * true' | crontab -`,
    at: 'echo true | at now + 1 hour',
    'systemd-run --user': 'systemd-run --user --wait true',
    lingering: 'loginctl enable-linger',
  }
  test.for(Object.entries(plans))(
    'SG-24 plans: a tenant uses %s → refused, nothing is left to run (needs systemd)',
    async ([, command]) => {
      const { box } = story()
      expect(await doing(`${command} || echo refused with $?`)).toMatchObject({ said: expect.stringContaining('refused with') })
      const uid = await box.sure(`id -u ${mine!.username}`)
      const left = `ls /var/spool/cron/crontabs /var/lib/systemd/linger; find /var/spool/cron/atjobs -uid ${uid} -type f`
      expect((await box.shell(left)).out).not.toMatch(new RegExp(`${mine!.username}|atjobs`))
    },
  )
  test('SG-24 plans: other accounts of the machine → as before (needs systemd)', async () => {
    const { box } = story()
    await box.sure('id local || useradd -m local')
    await box.sure(`su local -c "${plans.crontab}"; su local -c "${plans.at}"`)
    expect(await box.sure('ls /var/spool/cron/crontabs')).toContain('local')
  })

  test('SG-26 ptrace: a tenant attaches to sshd, the agent and systemd → refused; own programs may be traced (needs systemd)', async () => {
    const { box } = story()
    const program = `#!/usr/bin/python3
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
for pid in sys.argv[1:]: print('attached' if libc.ptrace(16, int(pid), 0, 0) == 0 else os.strerror(ctypes.get_errno()))
`
    await box.sure('cat > /usr/local/bin/attach; chmod 755 /usr/local/bin/attach', { input: program })
    const { said } = await doing('attach $(pgrep -x sshd) $(pgrep -f gatehouse-agent.mjs) 1')
    expect(new Set(said.split('\n'))).toEqual(new Set(['Operation not permitted']))
    // Red control.
    expect((await doing('sleep 9 > /dev/null 2>&1 & attach $!')).said).toBe('attached')
  })

  test('SG-24 FUSE: a tenant holds a file system that answers nothing → it cannot be had, or the release does not wait for it (needs systemd)', async () => {
    const { place, node, box } = story()
    const { id, username } = await place.allocation('asha', node.sku, [owner!])
    const session = await stayIn(box, username, owner!)
    session.say(`printf '#!/bin/sh\\nexec /usr/lib/openssh/sftp-server\\n' > serve; chmod 755 serve; mkdir m`)
    session.say('sshfs -o ssh_command=$HOME/serve x:/ m 2> /dev/null; pkill -STOP -x sshfs; echo tried')
    expect(await session.next()).toBe('tried')
    await place.done(202, 'asha', 'POST', `/api/v1/allocations/${id}/release`, { body: {} })
    await place.untilState(id, 'released')
    expect((await box.shell(`grep ${username} /proc/mounts; ls -d /home/${username}; pgrep -x sshfs`)).out).toBe('')
  })

  test('SG-25 stopped helpers: eight tenants stop all that runs as their account and are released → others’ revokes do not wait (needs systemd)', async () => {
    const { place, node, box } = story()
    const grant = await place.grant('asha', other!.id, 'axel', member!)
    const bystander = await stayIn(box, other!.username, member!)
    const hostile = await Promise.all(Array.from({ length: 8 }, () => place.allocation('asha', node.sku, [owner!])))
    const sessions: LiveSession[] = []
    for (const { username } of hostile) {
      const session = await stayIn(box, username, owner!)
      session.say('(while :; do kill -STOP -1; done) > /dev/null 2>&1 < /dev/null &')
      sessions.push(session)
    }
    // Red control: what root runs as the account does not get far.
    const [first] = hostile
    const helper = await box.shell(`setpriv --reuid ${first!.username} --regid ${first!.username} --clear-groups timeout 2 sleep 1`, {
      timeout_ms: 5000,
    })
    expect(helper.code).not.toBe(0)
    for (const { id } of hostile) await place.done(202, 'asha', 'POST', `/api/v1/allocations/${id}/release`, { body: {} })
    await place.revoke('asha', other!.id, grant)
    await bystander.ended
    await place.until('refused', async () => (await logIn(box, other!.username, member!)).code === 255)
    for (const { id } of hostile) await place.untilState(id, 'released')
  })

  test('SG-26 one agent: another one, or clear, with another state folder → refused while the agent runs, and where it is not this node’s (needs systemd)', async () => {
    const { box } = story()
    for (const words of ['run', 'clear']) {
      const { code, out, err } = await box.shell(`gatehouse-agent ${words} --state /var/lib/another`)
      expect([code, out, err]).toEqual([1, '', expect.stringContaining('an agent runs on this machine already')])
    }
    await box.sure('systemctl stop gatehouse-agent')
    const cleared = await box.shell('gatehouse-agent clear --state /var/lib/another')
    await box.sure('systemctl start gatehouse-agent')
    expect(cleared.code).toBe(1)
    await story().node.connected()
    expect(await doing('echo in')).toEqual({ code: 0, said: 'in' })
  })

  test('SG-26 hook: called by what is not sshd → refused; its caller lives and no session is written (needs systemd)', async () => {
    const { box } = story()
    const [hook, sessions] = ['/usr/lib/gatehouse-agent/ssh-session', '/var/lib/gatehouse-agent/ssh-sessions']
    const [type, blob] = owner!.line.split(' ')
    const written = async () => (await box.sure(`ls -A ${sessions}`)).split('\n')
    const before = await written()
    const env = `PAM_TYPE=open_session PAM_USER=${mine!.username} SSH_AUTH_INFO_0='publickey ${type} ${blob}'`
    expect(await box.sure(`${env} bash -c '${hook}; echo lives, $?'`)).toMatch(/^lives, [^0]/)
    expect((await written()).filter((name) => !before.includes(name))).toEqual([])
  })

  test('SG-26 sshd: a Match in a nested include before ours → prepare changes nothing and says so (needs systemd)', async () => {
    const { box } = story()
    await box.sure(
      'echo "Include /etc/ssh/nested/*.conf" > /etc/ssh/sshd_config.d/00-a.conf; mkdir -p /etc/ssh/nested; cat > /etc/ssh/nested/a.conf',
      {
        input: 'Match Address 10.0.0.0/8\n  AuthorizedKeysFile .ssh/authorized_keys\nMatch all\n',
      },
    )
    const { code, err } = await box.shell('gatehouse-agent prepare')
    expect([code, err]).toEqual([1, expect.stringContaining('sshd_reads_other_keys')])
    await box.sure('rm -r /etc/ssh/sshd_config.d/00-a.conf /etc/ssh/nested; gatehouse-agent prepare')
  })

  test('SG-26 lastlog: a tenant logs in with a terminal → the file does not grow by the account’s number (needs systemd)', async () => {
    const { box } = story()
    const size = async () => Number(await box.sure('stat -c %s /var/log/lastlog'))
    await doing('true', ['-tt'])
    expect(await size()).toBeLessThan(64 * 2 ** 20)
    // Red control: a number as high as they once were makes it hundreds of gigabytes.
    await box.sure(
      'useradd --no-log-init -m -u 2000000000 high; mkdir -m 700 ~high/.ssh; cp /root/.ssh/authorized_keys ~high/.ssh; chown -R high: ~high/.ssh',
    )
    await logIn(box, 'high', { file: box.root_key }, 'true', ['-tt'])
    expect(await size()).toBeGreaterThan(2 ** 38)
  })
})
