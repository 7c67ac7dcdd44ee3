import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const textOf = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const unit = textOf('agent/systemd/gatehouse-agent.service')
const guide = textOf('docs/guides/node-agent.md')
const [, , removing = ''] = guide.split(/(## Update, stop, remove\n)/)

test('SG-15 the unit prepares sshd at each start, with all rights, and the agent runs also where that fails', () => {
  const [, program] = /^ExecStart=(.*) run$/m.exec(unit)!
  expect(unit).toContain(`\nExecStartPre=-+${program} prepare\nExecStart=`)
})

test('what the unit names is installed by the guide, and taken away by it', () => {
  const [, documentation] = /^Documentation=file:(.*)$/m.exec(unit)!
  const [, node, program] = /^ExecStart=(\S+) (\S+) run$/m.exec(unit)!
  for (const path of [documentation!, program!]) {
    expect(guide).toMatch(new RegExp(`^install -D .* ${path}$`, 'm'))
    expect(removing).toMatch(new RegExp(`^rm .*${path.slice(0, path.lastIndexOf('/'))}( |$)`, 'm'))
  }
  expect(guide).toContain(`The unit runs \`${node}\``)
  for (const each of ['/etc/systemd/system/gatehouse-agent.service', '/usr/local/bin/gatehouse-agent', '/etc/gatehouse-agent', 'groupdel'])
    expect(removing).toContain(each)
})
