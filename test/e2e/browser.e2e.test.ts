import { createHash, randomBytes } from 'node:crypto'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import people from '../../db/seed/people.json' with { type: 'json' }
import { startIdp } from '../../idp/src/start-idp.ts'
import { hasPart, parts } from '../../tools/test/parts.ts'
import { type LiveServer, liveServer } from '../live-server.ts'

const quiet = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

if (!hasPart('chromium')) test.skip('HO-01 the pages in a real browser (needs chromium)')

describe.runIf(hasPart('chromium'))('the pages in a real browser', () => {
  let browser: Browser
  let live: LiveServer
  let idp: Awaited<ReturnType<typeof startIdp>>
  const complaints: string[] = []

  const open = async (): Promise<Page> => {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
    page.on('console', (message) => {
      // The page's library wants a style of its own that the policy refuses; it looks right without.
      if (message.type() === 'error' && !message.text().includes('inline style')) complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(String(error)))
    return page
  }
  /** Somebody who wants to look sets this to a folder. */
  const look = async (page: Page, name: string) => {
    const folder = process.env.GATEHOUSE_SCREENSHOTS
    if (folder) await page.screenshot({ path: `${folder}/${name}.png` })
  }

  beforeAll(async () => {
    live = await liveServer()
    idp = await startIdp({ port: 0, people: people.people })
    browser = await chromium.launch({ executablePath: parts.chromium.path, args: quiet })
  })
  afterAll(async () => {
    await browser?.close()
    await idp?.stop()
    await live?.stop()
  })

  test('HO-01 the reference shows every operation with its permission and its actors, under its content policy (needs chromium)', async () => {
    const page = await open()
    await page.goto(`${live.url}/docs`)
    const create = page.locator('[id="operations-project-project\\\\.create"]')
    await create.waitFor()
    expect(await page.locator('.opblock').count()).toBeGreaterThan(20)
    await create.click()
    await create.getByText('Admitted actors').waitFor()
    expect(await create.innerText()).toContain('tenant.project.create')
    await look(page, 'docs')
    expect(complaints).toEqual([])
  })

  test('HO-06 a person signs in by code flow with PKCE, after one wrong password (needs chromium)', async () => {
    const page = await open()
    const verifier = randomBytes(32).toString('base64url')
    const redirect_uri = 'http://127.0.0.1:8090/api/v1/auth/oidc/callback'
    const asked = new URLSearchParams({
      client_id: 'gatehouse-console',
      response_type: 'code',
      redirect_uri,
      scope: 'openid',
      state: 'state-1',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    })
    let landed = ''
    await page.route('http://127.0.0.1:8090/**', (route) => {
      landed = route.request().url()
      return route.fulfill({ status: 200, contentType: 'text/plain', body: 'landed' })
    })
    await page.goto(`${idp.issuer}/auth?${asked}`)
    await look(page, 'sign-in')
    const signIn = async (password: string) => {
      await page.getByLabel('Username').fill('alice')
      await page.getByLabel('Password').fill(password)
      await page.getByRole('button').click()
    }
    await signIn('wrong')
    await page.getByRole('alert').waitFor()
    await look(page, 'sign-in-refused')
    await signIn('alice-gatehouse')
    await page.waitForURL(/callback/)
    const { searchParams } = new URL(landed)
    expect(searchParams.get('state')).toBe('state-1')
    const answered = await fetch(`${idp.issuer}/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        client_id: 'gatehouse-console',
        code: searchParams.get('code')!,
        redirect_uri,
        code_verifier: verifier,
      }),
    })
    expect(await answered.json()).toMatchObject({ token_type: 'Bearer', access_token: expect.any(String) })
  })
})
