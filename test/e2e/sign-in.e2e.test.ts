import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as client from 'openid-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import seeded from '../../db/seed/people.json' with { type: 'json' }
import { type Idp, startIdp } from '../../idp/src/start-idp.ts'
import { type HumanTokens, humanTokens } from '../../server/src/people/principals/oidc/human-tokens.ts'

let idp: Idp
let tokens: HumanTokens
let config: client.Configuration

beforeAll(async () => {
  idp = await startIdp({ port: 0, people: seeded.people })
  tokens = humanTokens([{ issuer: idp.issuer, audience: 'gatehouse-api' }])
  config = await client.discovery(new URL(idp.issuer), 'gatehouse-cli', undefined, client.None(), {
    execute: [client.allowInsecureRequests],
  })
})
afterAll(async () => {
  tokens.stop()
  await idp.stop()
})

/** As much of a browser as signing in needs: cookies by path, and redirects that one can look at. */
const browser = () => {
  const jar = new Map<string, { value: string; path: string }>()
  const visit = async (address: string | URL, form?: Record<string, string>) => {
    const url = new URL(address, idp.issuer)
    const cookie = [...jar].filter(([, { path }]) => url.pathname.startsWith(path)).map(([name, { value }]) => `${name}=${value}`)
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: cookie.join('; ') },
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      const path = /; path=([^;]+)/i.exec(line)?.[1] ?? '/'
      if (value) jar.set(name, { value, path })
      else jar.delete(name)
    }
    return response
  }
  /** Follows redirects until a page comes or the client's own address is reached. */
  const arrive = async (response: Response): Promise<Response | URL> => {
    const location = response.headers.get('location')
    if (!location) return response
    const url = new URL(location, idp.issuer)
    return url.origin === new URL(idp.issuer).origin ? arrive(await visit(url)) : url
  }
  return { visit, arrive }
}

const redirect_uri = 'http://127.0.0.1:45678/callback'
const begin = async (more: Record<string, string> = {}) => {
  const verifier = client.randomPKCECodeVerifier()
  const code_challenge = await client.calculatePKCECodeChallenge(verifier)
  const state = client.randomState()
  const parameters = { redirect_uri, scope: 'openid profile email', code_challenge, code_challenge_method: 'S256', state, ...more }
  return { verifier, state, url: client.buildAuthorizationUrl(config, parameters) }
}
const formOf = async (page: Response | URL) => {
  if (page instanceof URL) throw new Error(`expected a page, came to ${page}`)
  const html = await page.text()
  return { html, action: /action="([^"]+)"/.exec(html)?.[1] ?? '', policy: page.headers.get('content-security-policy') ?? '' }
}
const signIn = async (username: string) => {
  const { visit, arrive } = browser()
  const { verifier, state, url } = await begin()
  const { action } = await formOf(await arrive(await visit(url)))
  const end = await arrive(await visit(action, { username, password: `${username}-gatehouse` }))
  if (!(end instanceof URL)) throw new Error('the form came again')
  return client.authorizationCodeGrant(config, end, { pkceCodeVerifier: verifier, expectedState: state })
}
const passwordGrant = (form: Record<string, string>) =>
  fetch(`${idp.issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'password', client_id: 'gatehouse-cli', ...form }),
  })

test('HO-06 a seeded person signs in by code flow with PKCE; the access token is accepted and the ID token refused', async () => {
  const answer = await signIn('alice')
  expect(await tokens.validate(answer.access_token)).toMatchObject({
    issuer: idp.issuer,
    subject: 'alice',
    username: 'alice',
    email: 'alice@aurora.example',
    email_verified: true,
  })
  expect(answer.claims()).toMatchObject({ sub: 'alice', aud: 'gatehouse-cli' })
  await expect(tokens.validate(answer.id_token!)).rejects.toMatchObject({ code: 'token_invalid' })
})

test('HO-06 a refresh token gives a new access token, and works once', async () => {
  const { refresh_token } = await signIn('bella')
  const renewed = await client.refreshTokenGrant(config, refresh_token!)
  expect(await tokens.validate(renewed.access_token)).toMatchObject({ subject: 'bella', email: 'bella@borealis.example' })
  await expect(client.refreshTokenGrant(config, refresh_token!)).rejects.toThrow()
})

test('HO-06 a wrong password and an unknown person get the form again, with the same words', async () => {
  const { visit, arrive } = browser()
  const { url } = await begin()
  const { action, policy } = await formOf(await arrive(await visit(url)))
  expect(policy).toContain("default-src 'none'")
  expect(policy).toContain("form-action 'self' http://127.0.0.1:45678")
  const wrong = await visit(action, { username: 'alice', password: 'wrong' })
  const unknown = await visit(action, { username: '"><script>', password: 'wrong' })
  expect([wrong.status, unknown.status]).toEqual([401, 401])
  const { html, action: again } = await formOf(wrong)
  expect(again).toBe(action)
  expect(html).toContain('role="alert"')
  const echoed = (await formOf(unknown)).html
  expect(echoed).toContain('&quot;&gt;&lt;script&gt;')
  expect(echoed.replace('&quot;&gt;&lt;script&gt;', 'alice')).toBe(html)
  expect(await arrive(await visit(action, { username: 'alice', password: 'alice-gatehouse' }))).toBeInstanceOf(URL)
})

test('HO-06 the console signs in at its one address, again without a form while the session lasts, and signs out', async () => {
  const { visit, arrive } = browser()
  const console_callback = 'http://127.0.0.1:8090/api/v1/auth/oidc/callback'
  const asConsole = async (more: Record<string, string> = {}) =>
    (await begin({ client_id: 'gatehouse-console', redirect_uri: console_callback, ...more })).url
  const { action, html } = await formOf(await arrive(await visit(await asConsole())))
  expect(html).toContain('Gatehouse console')
  expect(String(await arrive(await visit(action, { username: 'anna', password: 'anna-gatehouse' })))).toContain(`${console_callback}?code=`)
  expect(String(await arrive(await visit(await asConsole({ prompt: 'consent' }))))).toContain(`${console_callback}?code=`)
  expect(
    (await arrive(await visit(await asConsole({ redirect_uri: 'http://127.0.0.1:9999/api/v1/auth/oidc/callback' })))) as Response,
  ).toMatchObject({
    status: 400,
  })

  const next = encodeURIComponent('http://127.0.0.1:8090/')
  const asked = await formOf(await visit(`/session/end?client_id=gatehouse-console&post_logout_redirect_uri=${next}`))
  expect(asked.policy).toContain("form-action 'self' http://127.0.0.1:8090")
  const xsrf = /name="xsrf" value="([^"]+)"/.exec(asked.html)?.[1] ?? ''
  expect(String(await arrive(await visit(asked.action, { xsrf, logout: 'yes' })))).toBe('http://127.0.0.1:8090/')
  expect((await formOf(await arrive(await visit(await asConsole())))).html).toContain('type="password"')
})

test('HO-06 somebody else cannot finish a sign-in they have only the address of', async () => {
  const { visit, arrive } = browser()
  const { action } = await formOf(await arrive(await visit((await begin()).url)))
  const stranger = await browser().visit(action, { username: 'alice', password: 'alice-gatehouse' })
  expect(stranger.status).toBe(400)
})

test('HO-06 a code without its PKCE verifier, and a request without PKCE or to a foreign address, are refused', async () => {
  const { visit, arrive } = browser()
  const { state, url } = await begin()
  const { action } = await formOf(await arrive(await visit(url)))
  const end = await arrive(await visit(action, { username: 'alice', password: 'alice-gatehouse' }))
  const pkceCodeVerifier = client.randomPKCECodeVerifier()
  await expect(client.authorizationCodeGrant(config, end as URL, { pkceCodeVerifier, expectedState: state })).rejects.toThrow()

  const plain = client.buildAuthorizationUrl(config, { redirect_uri, scope: 'openid' })
  expect(((await arrive(await visit(plain))) as URL).searchParams.get('error')).toBe('invalid_request')
  for (const foreign of ['http://127.0.0.1:45678/elsewhere', 'http://evil.example/callback'])
    expect(((await arrive(await visit((await begin({ redirect_uri: foreign })).url))) as Response).status).toBe(400)
})

test('HO-06 one request signs a person in during development; a wrong password does not', async () => {
  const answer = await passwordGrant({ username: 'ada', password: 'ada-gatehouse' })
  const { access_token, token_type } = (await answer.json()) as { access_token: string; token_type: string }
  expect(token_type).toBe('Bearer')
  expect(await tokens.validate(access_token)).toMatchObject({ subject: 'ada', email: 'ada@gatehouse.example' })
  const refusals = [
    { username: 'ada', password: 'grace-gatehouse' },
    { username: 'nobody', password: 'nobody-gatehouse' },
    { username: 'ada' },
    { username: 'ada', password: 'ada-gatehouse', client_id: 'gatehouse-console' },
  ]
  for (const refusal of refusals as Record<string, string>[]) expect((await passwordGrant(refusal)).status).toBe(400)
})

test('HO-06 a token for another audience and one with a changed letter are refused', async () => {
  const { access_token } = (await (await passwordGrant({ username: 'ada', password: 'ada-gatehouse' })).json()) as { access_token: string }
  const elsewhere = humanTokens([{ issuer: idp.issuer, audience: 'billing-api' }])
  await expect(elsewhere.validate(access_token)).rejects.toMatchObject({ code: 'token_invalid' })
  elsewhere.stop()
  const [header, payload, signature = ''] = access_token.split('.')
  const changed = `${header}.${payload}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`
  await expect(tokens.validate(changed)).rejects.toMatchObject({ code: 'token_invalid' })
})

/** The provider as its own process, and how it ended. */
const run = (env: Record<string, string>) => {
  const main = new URL('../../idp/src/main.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [main], { env: { PATH: process.env.PATH ?? '', ...env }, stdio: 'pipe' })
  let said = ''
  child.stdout.on('data', (text) => {
    said += text
  })
  child.stderr.on('data', (text) => {
    said += text
  })
  const ended = once(child, 'close').then(([code]) => ({ code, said }))
  const isReady = () => expect.poll(() => said).toContain('ready\n')
  return { child, ended, isReady }
}

test.each([{ NODE_ENV: 'production' }, { GATEHOUSE_PROFILE: 'production' }])('HO-06 the development provider refuses %o', async (env) => {
  const { code, said } = await run({ ...env, IDP_PORT: '0' }).ended
  expect(code).toBe(1)
  expect(said).toBe('The development identity provider does not start in production: everybody knows its passwords.\n')
})

test('HO-06 a taken port is a sentence', async () => {
  const { code, said } = await run({ IDP_PORT: String(idp.port) }).ended
  expect(code).toBe(1)
  expect(said).toBe(`Port ${idp.port} on 127.0.0.1 is taken; set IDP_PORT to another one.\n`)
})

test('HO-06 the provider keeps its keys to itself between starts, says nothing but ready, and ends with its starter or on a signal', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'idp-'))
  const spot = createServer()
  await new Promise<void>((resolve) => spot.listen(0, '127.0.0.1', resolve))
  const { port } = spot.address() as AddressInfo
  await new Promise((resolve) => spot.close(resolve))
  const env = { IDP_PORT: String(port), IDP_STATE_DIR: stateDir, GATEHOUSE_LIFELINE: 'stdin' }
  const keys = () => fetch(`http://127.0.0.1:${port}/jwks`).then((response) => response.text())

  const first = run(env)
  await first.isReady()
  const published = await keys()
  for (const file of readdirSync(stateDir)) expect(statSync(join(stateDir, file)).mode & 0o777).toBe(0o600)
  first.child.stdin.end()
  expect(await first.ended).toEqual({ code: 0, said: 'ready\n' })

  const second = run(env)
  await second.isReady()
  expect(await keys()).toBe(published)
  expect(published).not.toContain('"d"')
  second.child.kill('SIGTERM')
  expect(await second.ended).toEqual({ code: 0, said: 'ready\n' })
  rmSync(stateDir, { recursive: true })
})
