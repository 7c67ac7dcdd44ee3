import type { IncomingMessage, ServerResponse } from 'node:http'
import helmet from 'helmet'

/**
 * What every answer says to a browser. The library knows which headers those are; they never change, so it is asked once and not for
 * each request.
 */
const collected = (): Readonly<Record<string, string>> => {
  const headers: Record<string, string> = {}
  const response = {
    setHeader: (name: string, value: string) => {
      headers[name.toLowerCase()] = value
    },
    removeHeader: () => {},
  }
  const guard = helmet({
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    referrerPolicy: { policy: 'no-referrer' },
    xFrameOptions: { action: 'deny' },
    // For browsers and plug-ins that are gone, and for pages that look names up or share their origin; every answer would carry them.
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
    xPermittedCrossDomainPolicies: false,
    xXssProtection: false,
    originAgentCluster: false,
    crossOriginOpenerPolicy: false,
  })
  guard({} as IncomingMessage, response as unknown as ServerResponse, (error?: unknown) => {
    if (error) throw error
  })
  return headers
}

export const guardHeaders: Readonly<Record<string, string>> = { ...collected(), 'cache-control': 'no-store' }
