/** Passes the call's credential to a container as an environment variable. */
import type { BackendContext } from '../../core/call/context.ts'

/**
 * Not on a command line, which every user of the machine can read. The engine reads the value from its own environment.
 */
export const CREDENTIAL = 'CALLPLANE_CREDENTIAL'

/** The token, the key, or `user:password`, without header syntax. `undefined` if the operation has no `auth`. */
export async function credentialOf(context: BackendContext): Promise<string | undefined> {
  const credential = await context.credential()
  const [value] = Object.values(credential?.headers ?? {})
  if (value === undefined) return undefined
  switch (context.operation.auth?.profile) {
    case 'api_key_header':
      return value
    case 'basic':
      return Buffer.from(withoutScheme(value), 'base64').toString('utf8')
    default:
      return withoutScheme(value)
  }
}

function withoutScheme(value: string): string {
  return value.slice(value.indexOf(' ') + 1)
}
