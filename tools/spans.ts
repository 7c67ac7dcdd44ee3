// `npm run spans [-- id] [--port=4318]`: receives traces of a local server (OTLP over HTTP, as JSON) and prints a line per span, those of one
// correlation id where it is given.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

type Value = { stringValue?: string; intValue?: number | string; boolValue?: boolean }
type Span = {
  traceId: string
  name: string
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes?: { key: string; value: Value }[]
}
type Export = { resourceSpans?: { scopeSpans?: { spans?: Span[] }[] }[] }

const words = process.argv.slice(2).filter((argument) => argument !== '--')
const wanted = words.find((word) => !word.startsWith('--port='))
const port = Number(words.find((word) => word.startsWith('--port='))?.slice('--port='.length) ?? 4318)

const lineOf = ({ traceId, name, startTimeUnixNano, endTimeUnixNano, attributes = [] }: Span): string => {
  const milliseconds = Number(BigInt(endTimeUnixNano) - BigInt(startTimeUnixNano)) / 1e6
  const told = attributes.map(({ key, value }) => `${key}=${value.stringValue ?? value.intValue ?? value.boolValue}`)
  return [traceId, name.padEnd(20), `${milliseconds.toFixed(1)} ms`.padStart(9), ...told].join(' ')
}

const print = (exported: Export) => {
  const spans = (exported.resourceSpans ?? []).flatMap(({ scopeSpans = [] }) => scopeSpans.flatMap((scope) => scope.spans ?? []))
  for (const span of spans.sort((one, other) => (BigInt(one.startTimeUnixNano) < BigInt(other.startTimeUnixNano) ? -1 : 1))) {
    const line = lineOf(span)
    if (!wanted || line.split(' ').includes(`gatehouse.correlation_id=${wanted}`)) console.log(line)
  }
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    try {
      print(JSON.parse(Buffer.concat(chunks).toString('utf8')) as Export)
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    } catch {
      response.writeHead(400).end()
    }
  })
})
server.on('error', ({ message }) => {
  console.error(`Spans cannot be received on 127.0.0.1:${port}: ${message}`)
  process.exit(1)
})
server.listen(port, '127.0.0.1', () => {
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  console.log(`Waiting for spans. Start the server with OTEL_EXPORTER_OTLP_ENDPOINT=${address}`)
})
