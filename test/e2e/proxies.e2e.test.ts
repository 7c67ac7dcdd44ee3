import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createProjectConstraint } from '../../contract/src/constraints.ts'
import { freePort } from '../../server/src/ground/db/embedded/free-port.ts'
import { trustedProxies } from '../../server/src/rails/http/source-address.ts'
import { hasPart, type Part, parts } from '../../tools/test/parts.ts'
import { type LiveServer, liveServer, seeded } from '../live-server.ts'
import { launcher } from './launched.ts'

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-proxies-'))
const processes = launcher()
const members = `/api/v1/projects/${seeded.project.aurora}/members`
let live: LiveServer

beforeAll(async () => {
  live = await liveServer({ isTrustedProxy: trustedProxies(['127.0.0.1'])! })
  const condition = { within: { source_ip: ['127.0.0.2/32'] } }
  const body = { key: 'outside', actions: ['project.member.read'], condition }
  const made = await live.ask('alice', createProjectConstraint, { params: { project_id: seeded.project.aurora }, body })
  expect(made.status).toBe(201)
})
afterEach(processes.endAll)
afterAll(async () => {
  await live.stop()
  rmSync(folder, { recursive: true })
})

/** As the guide has it, for this server. */
const example = (language: string): string => {
  const guide = readFileSync(new URL('../../docs/guides/operation.md', import.meta.url), 'utf8')
  const [, text] = new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(guide)!
  expect(text).toContain('127.0.0.1:8090')
  return text!.replace('127.0.0.1:8090', new URL(live.url).host)
}

const configurations: Record<'nginx' | 'haproxy', (port: number) => { text: string; words: (file: string) => string[] }> = {
  nginx: (port) => ({
    text: `daemon off; master_process off; pid ${folder}/nginx.pid; error_log stderr;
events {}
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
  server { listen 127.0.0.1:${port};
${example('nginx')}
  }
}
`,
    words: (file) => ['-p', folder, '-c', file],
  }),
  haproxy: (port) => ({
    text: `defaults
  mode http
  timeout connect 30s
  timeout client 30s
  timeout server 30s
frontend entrance
  bind 127.0.0.1:${port}
  default_backend gatehouse
${example('haproxy')}`,
    words: (file) => ['-db', '-f', file],
  }),
}

const ask = async (port: number, from: string, headers: Record<string, string> = {}): Promise<number> => {
  const authorization = `Bearer ${await live.tokenOf('amara')}`
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path: members, localAddress: from, headers: { authorization, ...headers } }, (response) => {
      response.resume()
      resolve(response.statusCode!)
    })
      .on('error', reject)
      .end()
  })
}

const proxied = (part: 'nginx' | 'haproxy', name: string) => {
  const title = `PR-04 M1 a rule on the address, behind ${name} of the guide → the client’s own, whatever they wrote (needs ${part})`
  if (!hasPart(part satisfies Part)) return test.skip(title)
  test(title, async () => {
    const port = await freePort()
    const { text, words } = configurations[part](port)
    const file = join(folder, `${part}.conf`)
    writeFileSync(file, text)
    const { heard } = processes.launch(parts[part].path, words(file), { cwd: folder, env: { PATH: process.env.PATH } })
    await expect.poll(() => ask(port, '127.0.0.3').catch(() => heard.text), { timeout: 30_000 }).toBe(200)
    expect(await ask(port, '127.0.0.2')).toBe(403)
    for (const claimed of ['127.0.0.3', '127.0.0.1', 'nonsense', '127.0.0.3, 127.0.0.1'])
      expect([claimed, await ask(port, '127.0.0.2', { 'x-forwarded-for': claimed })]).toEqual([claimed, 403])
    for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip'])
      expect([name, await ask(port, '127.0.0.3', { [name]: name === 'forwarded' ? 'for=127.0.0.2' : '127.0.0.2' })]).toEqual([name, 200])
  })
}

proxied('nginx', 'nginx')
proxied('haproxy', 'HAProxy')
