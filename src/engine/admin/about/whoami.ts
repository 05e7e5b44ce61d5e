/** Tells a caller who it is to this server, and what the server offers. Every caller may ask. */
import { type Caller, ownerOf } from '../../../core/call/caller.ts'
import { operation } from '../../../core/operation/define.ts'
import { jsonSchema } from '../../../core/operation/schema.ts'
import { NOTHING, timeText } from '../shapes.ts'

export type Mode = 'read-write' | 'read-only'

/** What a server tells about itself. */
export interface ServerAbout {
  name: string
  version: string
  startedAt: number
  /** The protocols and abilities that it offers. */
  features(): readonly string[]
  /** `read-only` if the server, or the session of this caller, refuses every change. */
  mode(caller: Caller): Mode
  /** Present if the caller uses a session that ends by itself. */
  session?(caller: Caller): { expiresAt: number; idleSeconds: number } | undefined
}

export interface WhoAmIParts {
  server: ServerAbout
}

export interface WhoAmI {
  caller: { owner: string; tenant: string; userId?: string }
  scopes: readonly string[]
  mode: Mode
  server: { name: string; version: string; startedAt: string }
  features: readonly string[]
  session?: { expiresAt: string; idleSeconds: number }
}

const TEXTS = { type: 'array', items: { type: 'string' } }

export function whoAmI(parts: () => WhoAmIParts) {
  return operation('v1:callplane.whoami', {
    description: 'Returns who you are to this server, your scopes, and what the server offers.',
    internal: true,
    args: jsonSchema<Record<string, never>>(NOTHING),
    result: jsonSchema<WhoAmI>({
      type: 'object',
      required: ['caller', 'scopes', 'mode', 'server', 'features'],
      properties: {
        caller: { type: 'object', required: ['owner', 'tenant'] },
        scopes: TEXTS,
        mode: { enum: ['read-write', 'read-only'] },
        server: { type: 'object', required: ['name', 'version', 'startedAt'] },
        features: TEXTS,
        session: { type: 'object', required: ['expiresAt', 'idleSeconds'] },
      },
    }),
    run: (_, { caller }) => describeCaller(parts().server, caller),
  })
}

function describeCaller(server: ServerAbout, caller: Caller): WhoAmI {
  const { tenant, userId, scopes } = caller
  const session = server.session?.(caller)
  return {
    caller: { owner: ownerOf(caller), tenant, ...(userId !== undefined && { userId }) },
    scopes,
    mode: server.mode(caller),
    server: { name: server.name, version: server.version, startedAt: timeText(server.startedAt) },
    features: server.features(),
    ...(session && { session: { ...session, expiresAt: timeText(session.expiresAt) } }),
  }
}
