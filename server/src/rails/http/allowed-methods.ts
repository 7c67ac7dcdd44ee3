import type { FastifyInstance } from 'fastify'

interface Route {
  readonly segments: readonly string[]
  readonly methods: Set<string>
}

const isFitting = (segments: readonly string[], path: readonly string[]): boolean =>
  segments.length === path.length && segments.every((segment, at) => segment.startsWith(':') || segment === path[at])

/**
 * Knows every route of the server from now on. Returns which methods an address answers to: none where nothing is there. The framework
 * does not tell, it calls both "not found".
 */
export const allowedMethods = (app: FastifyInstance): ((url: string) => string[]) => {
  const routes = new Map<string, Route>()
  app.addHook('onRoute', ({ url, method }) => {
    const route = routes.get(url) ?? { segments: url.split('/'), methods: new Set() }
    for (const each of [method].flat()) route.methods.add(each)
    routes.set(url, route)
  })
  return (url) => {
    const path = url.split('?', 1)[0]!.split('/')
    return [...new Set([...routes.values()].flatMap(({ segments, methods }) => (isFitting(segments, path) ? [...methods] : [])))].sort()
  }
}
