import { connect } from 'node:net'
import { afterAll, beforeAll, test } from 'vitest'
import { type LiveServer, liveServer, seeded } from '../../../test/live-server.ts'

let live: LiveServer
beforeAll(async () => {
  live = await liveServer()
})
afterAll(() => live.stop())
const raw = (bytes: string | Buffer, ms = 700) =>
  new Promise<string>((resolve) => {
    const s = connect(Number(new URL(live.url).port), '127.0.0.1')
    let out = ''
    const done = (w: string) => {
      clearTimeout(t)
      s.destroy()
      resolve(`${out}\n<<${w}>>`)
    }
    const t = setTimeout(() => done('open'), ms)
    s.on('data', (d) => {
      out += d
    })
    s.on('close', () => done('closed'))
    s.on('error', (e) => {
      out += `ERR ${e.message}`
    })
    s.write(bytes)
  })
test('probe', async () => {
  const t = await live.tokenOf('ada')
  const A = `Authorization: Bearer ${t}\r\nHost: x\r\n`
  const show = async (name: string, b: string | Buffer) => console.log('#####', name, '\n', (await raw(b)).slice(0, 1500))
  const P = 'POST /api/v1/orgs HTTP/1.1\r\n'
  const next = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'
  await show('clte', `${P}${A}Content-Type: application/json\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${next}`)
  await show(
    'tecl',
    `${P}${A}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n5c\r\n${next}\r\n0\r\n\r\n`,
  )
  await show('2cl', `${P}${A}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}a${next}`)
  await show('2clsame', `${P}${A}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}${next}`)
  await show('clcomma', `${P}${A}Content-Length: 2, 2\r\n\r\n{}${next}`)
  await show('spacecolon', `${P}${A}Content-Length : 2\r\n\r\n{}${next}`)
  await show('obsfold', `${P}${A}X-A: b\r\n c\r\nContent-Length: 2\r\n\r\n{}${next}`)
  await show('barelf', `${P}${A}X-A: b\nContent-Length: 2\r\n\r\n{}${next}`)
  await show('alllf', `GET /healthz HTTP/1.1\nHost: x\n\n`)
  await show('xchunked', `${P}${A}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${next}`)
  await show('te2', `${P}${A}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${next}`)
  await show('te-identity', `${P}${A}Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}${next}`)
  await show(
    'badchunk-unauth',
    `${P}Host: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{}\r\nZZ\r\n${next}`,
  )
  const s = new Promise<string>((resolve) => {
    const sock = connect(Number(new URL(live.url).port), '127.0.0.1')
    let out = ''
    sock.on('data', (d) => {
      out += d
    })
    sock.on('close', () => resolve(out + '<closed>'))
    sock.on('error', () => {})
    sock.write(`${P}Host: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n`)
    setTimeout(() => sock.write('{}{}{}{}ZZZ\r\n\r\n'), 300)
    setTimeout(() => {
      resolve(out + '<open>')
      sock.destroy()
    }, 1200)
  })
  console.log('##### late bad chunk after 401', await s)
  await show('hdr64', `GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(65536)}\r\n\r\n`)
  await show('expect', `GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: foo\r\n\r\n`)
  await show('upgrade', `GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n`)
  await show('connect', `CONNECT a:80 HTTP/1.1\r\nHost: x\r\n\r\n`)
  await show('nohost', `GET /healthz HTTP/1.1\r\n\r\n`)
  await show('http10', `GET /healthz HTTP/1.0\r\n\r\n`)
  await show('abs', `GET http://x/healthz HTTP/1.1\r\nHost: x\r\n\r\n`)
  await show('star', `OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n`)
  await show('badurl', `GET /api/v1/orgs/%zz HTTP/1.1\r\n${A}\r\n`)
  await show('nonutf8', `GET /api/v1/orgs/%ff HTTP/1.1\r\n${A}\r\n`)
  await show('longparam', `GET /api/v1/orgs/${'a'.repeat(300)} HTTP/1.1\r\n${A}\r\n`)
  await show('qbad', `GET /api/v1/orgs?limit=%zz HTTP/1.1\r\n${A}\r\n`)
  await show('qnul', `GET /api/v1/orgs?limit=%00 HTTP/1.1\r\n${A}\r\n`)
  await show('qproto', `GET /api/v1/orgs?__proto__=1&constructor=2 HTTP/1.1\r\n${A}\r\n`)
  await show('getct', `GET /api/v1/orgs HTTP/1.1\r\nContent-Type: text/plain\r\n${A}\r\n`)
  await show('getbody', `GET /api/v1/orgs HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 3\r\n${A}\r\n{"a${next}`)
  await show('propfind', `PROPFIND /api/v1/orgs HTTP/1.1\r\n${A}\r\n`)
  await show('head', `HEAD /api/v1/orgs HTTP/1.1\r\n${A}\r\n`)
  await show('query', `QUERY /api/v1/orgs HTTP/1.1\r\n${A}\r\n`)
  const t0 = Date.now()
  const r = await live.call('ada', 'PATCH', `/api/v1/orgs/${seeded.org.aurora}`, { body: { name: `${'a'.repeat(100000)}\n` } })
  console.log('redos', r.status, Date.now() - t0)
  const up = await live.call('ada', 'POST', `/api/v1/projects/${seeded.project.aurora}/members`, {
    body: { user_id: seeded.user('ada').toUpperCase(), role_name: 'project_viewer' },
  })
  console.log('uppercase self', up.status, up.text)
  const ow = await live.call('ada', 'POST', `/api/v1/orgs`, {
    body: { name: 'x', slug: 'xx', owner_user_id: seeded.user('ada').toUpperCase() },
  })
  console.log('uppercase owner', ow.status, ow.text)
  const docs = await fetch(`${live.url}/docs`)
  console.log(docs.status, [...docs.headers])
  const docs2 = await fetch(`${live.url}/docs/static/index.html`)
  console.log(docs2.status, [...docs2.headers])
}, 60000)
