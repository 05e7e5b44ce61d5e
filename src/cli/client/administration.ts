/** Calls of the server's own operations, with the administrator's token if no other is named. */
import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import { isOver } from '../../client/judge.ts'
import type { Envelope } from '../../client/options.ts'
import { Fault } from '../../core/fault.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { findAdminToken } from '../../server/open/admin-token.ts'
import { type CommandIo, usageFault } from '../command.ts'
import { plainText } from '../terminal/text.ts'
import { REMOTE_HELP, REMOTE_OPTIONS, Remote } from './remote.ts'

export const ADMINISTRATION_OPTIONS = { ...REMOTE_OPTIONS, data: { type: 'string' } } as const

export const ADMINISTRATION_HELP = `  --data <folder>        The server's data folder (default: .callplane). Also CALLPLANE_DATA.
${REMOTE_HELP}`

/**
 * Sends the administrator's token only to a server on this machine: that server created it, and no other accepts it.
 */
export function remoteFor(values: { url?: string; token?: string; data?: string }, io: CommandIo): Remote {
  const named = values.token ?? (io.env.CALLPLANE_TOKEN || undefined)
  const without = new Remote(values, io)
  if (named !== undefined || !isLocal(without.url)) return without
  const token = findAdminToken(resolve(values.data ?? (io.env.CALLPLANE_DATA || '.callplane')))
  return token === undefined ? without : new Remote({ ...values, token }, io)
}

function isLocal(url: string): boolean {
  return /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(url).hostname)
}

/** For the message to a credential without the scope. */
export interface Wanted {
  /** Completes "The server does not let this credential …". */
  action: string
  scope: string
}

/** Calls `v1:callplane.{name}`, and waits for its end. */
export async function administer(
  server: Remote,
  name: string,
  args: JsonObject,
  { action, scope }: Wanted,
  { idempotencyKey, onChange }: { idempotencyKey?: string; onChange?(envelope: Envelope): void } = {},
): Promise<JsonObject> {
  const first = await server.send({
    operation: `v1:callplane.${name}`,
    args,
    context: { requestId: randomUUID(), idempotencyKey },
    headers: {},
  })
  const { status } = first
  const { envelope } = isOver(first.envelope)
    ? first
    : await server.calling.finish(first, server.signal, (now) => onChange?.(now.envelope))
  const result = envelope.result as JsonValue | undefined
  if (isJsonObject(result)) return result
  const { code = 'FAILED', message = 'No reason was given.' } = envelope.error ?? {}
  if (code === 'UNKNOWN_OP' || status === 401)
    throw usageFault(
      `The server does not let this credential ${action}. Use one with the scope ${scope}, or name the data folder of the server with --data.`,
    )
  if (code === 'INSUFFICIENT_SCOPE') throw usageFault(plainText(message))
  throw new Fault('upstream', plainText(message), { code })
}

/** The objects in a list of a result. A server of another version may send something else. */
export function objectsIn(list: JsonValue | undefined): JsonObject[] {
  return Array.isArray(list) ? list.filter(isJsonObject) : []
}
