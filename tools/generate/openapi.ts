import { operations } from '@gatehouse/contract/operations'
import { openApiDocument } from '@gatehouse/server/rails/http/openapi'
import { actorClasses } from '@gatehouse/server/rooms'
import type { Document } from './document.ts'

export const openapiDocument: Document = {
  path: 'docs/generated/openapi.json',
  make: async () => `${JSON.stringify(openApiDocument(operations, actorClasses), null, 2)}\n`,
}
