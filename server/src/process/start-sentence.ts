import { EnvelopeRefused } from '#ground/custody/envelope.ts'
import { StaleServer } from '#ground/db/primary-guard.ts'
import { CheckpointsRefused } from '#ground/installation/checkpoint.ts'
import { Problem } from '#ground/kernel/problem.ts'
import { ConfigRefused } from '../config.ts'

const certificate = /CERT|SELF_SIGNED|UNABLE_TO_(?:VERIFY|GET)/

/** What an operator reads when the start fails: one sentence that says what to do, not where the code stood. */
export const sentenceOf = (error: unknown): string => {
  if (error instanceof ConfigRefused || error instanceof CheckpointsRefused) return error.message
  if (error instanceof EnvelopeRefused) return `A secret of this installation does not open: ${error.message}.`
  if (error instanceof Problem && error.cause instanceof StaleServer)
    return 'The server in DATABASE_URL is a hot standby or a former primary; name the primary there.'
  if (error instanceof Problem && error.code === 'dependency_unavailable') {
    const { code } = (error.cause ?? {}) as NodeJS.ErrnoException
    // A wrong password, or a certificate file that is not there: the cause says which.
    return /^28|^ENOENT$/.test(code ?? '') ? sentenceOf(error.cause) : 'The database in DATABASE_URL does not answer.'
  }
  const {
    code = '',
    message,
    hostname,
    setting = 'GATEHOUSE_PORT',
  } = error as NodeJS.ErrnoException & { hostname?: string; setting?: string }
  const [line = ''] = String(message).split('\n')
  if (code === 'EADDRINUSE') return `The port in ${setting} is taken by another process; choose another one.`
  if (code === 'EACCES') return `This user may not listen on the port in ${setting}.`
  if (code === 'ECONNREFUSED') return 'The database in DATABASE_OWNER_URL does not answer.'
  if (hostname !== undefined) return `There is no host ${hostname}.`
  if (certificate.test(code))
    return `The certificate of the database is not accepted (${line}); sslrootcert in its URL names who signed it.`
  // Authentication, and a database that does not exist: PostgreSQL says which, and repeats no password.
  if (/^(?:28...|3D000)$/.test(code)) return `The database refuses the connection: ${line}.`
  if (/does not support SSL/.test(line)) return 'The database offers no TLS, and its URL asks for it.'
  return line.endsWith('.') ? line : `${line}.`
}
