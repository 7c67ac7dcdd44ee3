import { readFileSync } from 'node:fs'
import { startIdp } from './start-idp.ts'

const { env } = process

const refuse = (sentence: string): never => {
  console.error(sentence)
  process.exit(1)
}

if (env.NODE_ENV === 'production' || env.GATEHOUSE_PROFILE === 'production')
  refuse('The development identity provider does not start in production: everybody knows its passwords.')

const port = Number(env.IDP_PORT ?? 8091)
if (!Number.isInteger(port) || port < 0 || port > 65535) refuse(`IDP_PORT is not a port: ${env.IDP_PORT}`)

const extraRedirectUris = (env.IDP_EXTRA_REDIRECT_URIS ?? '').split(/[\s,]+/).filter(Boolean)
for (const uri of extraRedirectUris) if (!URL.canParse(uri)) refuse(`IDP_EXTRA_REDIRECT_URIS has something that is no URI: ${uri}`)
if (env.IDP_ISSUER && !URL.canParse(env.IDP_ISSUER)) refuse(`IDP_ISSUER is no URL: ${env.IDP_ISSUER}`)

const sentenceFor = (error: unknown) => {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') return `Port ${port} on 127.0.0.1 is taken; set IDP_PORT to another one.`
  if (code === 'EACCES' || code === 'EROFS' || code === 'ENOSPC')
    return `The identity provider cannot keep its keys or open its port: ${message}`
  return `The identity provider did not start: ${message}`
}

const start = () => {
  const { people } = JSON.parse(readFileSync(new URL('../../db/seed/people.json', import.meta.url), 'utf8'))
  return startIdp({
    port,
    people,
    extraRedirectUris,
    ...(env.IDP_ISSUER && { issuer: env.IDP_ISSUER }),
    ...(env.IDP_STATE_DIR && { stateDir: env.IDP_STATE_DIR }),
  })
}

const idp = await Promise.resolve()
  .then(start)
  .catch((error: unknown) => refuse(sentenceFor(error)))

const stop = () => void idp.stop().then(() => process.exit(0))
process.once('SIGTERM', stop)
process.once('SIGINT', stop)
// Our starter holds the other end: when it dies, even by kill -9, we see the end and do not stay behind.
if (env.GATEHOUSE_LIFELINE === 'stdin') process.stdin.resume().once('end', stop).once('error', stop)

console.log('ready')
