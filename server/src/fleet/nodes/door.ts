import { constants, generateKeyPairSync } from 'node:crypto'
import type { Server, ServerOptions } from 'node:https'
import type { Authority } from './authority.ts'
import { issueDoorCertificate } from './issue-certificate.ts'

/** For how long the door's own certificate counts, and how often a new one takes its place. */
const certificate_hours = 72
const renewal_ms = 24 * 3600 * 1000

/** Those that nodes may know it by: the host of its address, and on a developer's machine the machine itself. */
export const doorHosts = (url: string, is_development: boolean): string[] => {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '')
  return [...new Set([host, ...(is_development ? ['localhost', '127.0.0.1'] : [])])]
}

/**
 * How the nodes' door speaks. Who comes without a certificate, or with somebody else's, is let in to be told so; what counts is looked up
 * for each request. Nobody takes up an earlier connection where it ended: each begins with the certificate.
 */
export const doorOptions = async (authority: Authority, hosts: readonly string[], now: Date): Promise<ServerOptions> => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { pem } = await issueDoorCertificate(authority, publicKey, hosts, certificate_hours, now.toISOString())
  return {
    key: privateKey.export({ format: 'pem', type: 'pkcs8' }),
    cert: pem,
    ca: authority.certificate_pem,
    requestCert: true,
    rejectUnauthorized: false,
    minVersion: 'TLSv1.3',
    secureOptions: constants.SSL_OP_NO_TICKET,
  }
}

/** A new certificate in the place of the door's, long before its end; connections that are open stay. */
export const renewDoor = (server: Server, authority: Authority, hosts: readonly string[], onError: (error: Error) => void) => {
  const renew = async () => server.setSecureContext(await doorOptions(authority, hosts, new Date()))
  const timer = setInterval(() => void renew().catch(onError), renewal_ms)
  timer.unref()
  return { renew, stop: () => clearInterval(timer) }
}
