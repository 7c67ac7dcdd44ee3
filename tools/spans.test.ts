import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'

const span = (name: string, correlation_id: string, from: number) => ({
  traceId: 'd9e1b7c38a63535dc99c7f3494f193ae',
  name,
  startTimeUnixNano: String(from),
  endTimeUnixNano: String(from + 1_500_000),
  attributes: [
    { key: 'gatehouse.correlation_id', value: { stringValue: correlation_id } },
    { key: 'http.response.status_code', value: { intValue: 403 } },
  ],
})

test('HO-02 npm run spans -- id: spans of two requests arrive → the spans of that id are printed, oldest first', async () => {
  const child = spawn(process.execPath, ['tools/spans.ts', 'one', '--port=0'], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  while (!text.includes('\n')) await once(child.stdout, 'data')
  const address = /http:\S+/.exec(text)![0]
  const body = JSON.stringify({
    resourceSpans: [{ scopeSpans: [{ spans: [span('late', 'one', 2e6), span('early', 'one', 1e6), span('early', 'other', 1)] }] }],
  })
  expect((await fetch(`${address}/v1/traces`, { method: 'POST', body })).status).toBe(200)
  expect((await fetch(`${address}/v1/traces`, { method: 'POST', body: 'no JSON' })).status).toBe(400)
  while (text.split('\n').length < 4) await once(child.stdout, 'data')
  const line = (name: string) =>
    `d9e1b7c38a63535dc99c7f3494f193ae ${name.padEnd(20)}    1.5 ms gatehouse.correlation_id=one http.response.status_code=403`
  expect(text.trimEnd().split('\n').slice(1)).toEqual([line('early'), line('late')])
})
