/** The credential of a call, as a container finds it: in its environment. */
import type { BackendContext } from '../../core/context.ts'

/** Not on a command line, where every user of the machine could read it: the engine takes it from its own environment. */
export const CREDENTIAL = 'CALLPLANE_CREDENTIAL'

/** The token, the key, or `user:password`: without what a header would have around it. Nothing without `auth`. */
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
