import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { boundsDocument } from './generate/bounds.ts'
import { configDocument } from './generate/config.ts'
import { differenceOf } from './generate/difference.ts'
import type { Document } from './generate/document.ts'
import { endpointsDocument } from './generate/endpoints.ts'
import { evidenceDocument } from './generate/evidence.ts'
import { guardsDocument } from './generate/guards.ts'
import { noticesDocument } from './generate/notices.ts'
import { openapiDocument } from './generate/openapi.ts'
import { operatorAllowlistDocument } from './generate/operator-allowlist.ts'
import { permissionMatrixDocument } from './generate/permission-matrix.ts'
import { problemsDocument } from './generate/problems.ts'
import { roomsDocument } from './generate/rooms.ts'
import { schemaDocument } from './generate/schema.ts'

const documents: readonly Document[] = [
  roomsDocument,
  problemsDocument,
  endpointsDocument,
  openapiDocument,
  operatorAllowlistDocument,
  permissionMatrixDocument,
  configDocument,
  boundsDocument,
  schemaDocument,
  evidenceDocument,
  guardsDocument,
  noticesDocument,
]

const onlyCheck = process.argv.includes('--check')
let drifted = 0

for (const { path, make } of documents) {
  const made = await make()
  const kept = await readFile(path, 'utf8').catch(() => '')
  if (made === kept) continue
  drifted += 1
  if (onlyCheck) {
    console.log(`${path} has drifted from its source; \`npm run generate\` writes it anew:`)
    console.log(differenceOf(kept, made))
  } else {
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, made)
    console.log(`wrote ${path}`)
  }
}

if (drifted === 0) console.log(`${documents.length} documents, all up to date`)
process.exit(onlyCheck && drifted > 0 ? 1 : 0)
