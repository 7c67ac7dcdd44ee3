import { readFile } from 'node:fs/promises'
import type { FixedFile } from './fixed-files.ts'

const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Gatehouse API</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/docs/static/swagger-ui.css">
<link rel="icon" type="image/png" href="/docs/static/favicon-32x32.png">
</head>
<body>
<div id="swagger-ui"></div>
<script src="/docs/static/swagger-ui-bundle.js"></script>
<script src="/docs/static/start.js"></script>
</body>
</html>
`

const start = `SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#swagger-ui',
  docExpansion: 'list',
  displayOperationId: true,
  persistAuthorization: false,
  validatorUrl: null
})
`

const pageHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  // No window of another origin that opened the page keeps hold of it.
  'cross-origin-opener-policy': 'same-origin',
}

const written = (path: string, media_type: string, text: string, headers?: FixedFile['headers']): FixedFile => ({
  path,
  media_type,
  read: async () => Buffer.from(text),
  ...(headers ? { headers } : {}),
})

const library = import.meta.resolve('swagger-ui-dist/package.json')

const ofLibrary = (name: string, media_type: string): FixedFile => ({
  path: `/docs/static/${name}`,
  media_type,
  read: () => readFile(new URL(name, library)),
})

/** The OpenAPI document, and for people to read and try, at /docs. */
export const docFiles = (document: () => object): readonly FixedFile[] => [
  {
    path: '/openapi.json',
    media_type: 'application/json; charset=utf-8',
    read: async () => Buffer.from(JSON.stringify(document())),
  },
  written('/docs', 'text/html; charset=utf-8', html, pageHeaders),
  written('/docs/static/start.js', 'text/javascript; charset=utf-8', start),
  ofLibrary('swagger-ui.css', 'text/css; charset=utf-8'),
  ofLibrary('swagger-ui-bundle.js', 'text/javascript; charset=utf-8'),
  ofLibrary('favicon-32x32.png', 'image/png'),
]
