import { newId } from '../kernel/ids.ts'
import { loggable } from './loggable.ts'
import { scrub } from './scrub.ts'

interface Bound {
  bindings(): Record<string, unknown>
}

interface LoggedError extends Record<string, unknown> {
  type: string
  message: string
  stack: string
}

const asLogged = (members: object): Record<string, unknown> => {
  try {
    return loggable(members) as Record<string, unknown>
  } catch {
    // A value that throws when it is looked at must not take its request with it.
    return { unloggable: true }
  }
}

/**
 * How a log line is made, for pino. What goes in is chosen (`loggable`), what comes out is looked over once more (`scrub`). Lines
 * outside any request carry the correlation id of the process, so that every line has one.
 */
export const loggerOptions = (level: string) => {
  const ofProcess = { correlation_id: newId('correlation') }
  return {
    level,
    base: { pid: process.pid },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    messageKey: 'message',
    mixin: (members: object, _level: number, logger: Bound) =>
      'correlation_id' in members || 'correlation_id' in logger.bindings() ? {} : { ...ofProcess },
    formatters: {
      level: (label: string) => ({ level: label }),
      log: asLogged,
    },
    // What the framework would say of these by itself holds the whole address.
    serializers: {
      req: () => ({}),
      res: () => ({}),
      // A child logger's members come past `log`.
      err: (error: Error) => loggable(error) as LoggedError,
    },
    hooks: { streamWrite: scrub },
  }
}
