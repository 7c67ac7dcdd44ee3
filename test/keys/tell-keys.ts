// Another process: tells the keys of the inputs that it is sent.
import { text } from 'node:stream/consumers'
import { everyKey } from './every-key.ts'

const asked: Record<string, unknown[]> = JSON.parse(await text(process.stdin))
const keys = await everyKey()
const told = Object.entries(asked).map(([name, inputs]) => [name, inputs.map((input) => keys[name]!.keyOf(input as never))])
process.stdout.write(JSON.stringify(Object.fromEntries(told)))
