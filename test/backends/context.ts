/** The context of a backend for tests of a single request, with every field settable. */

import { ANONYMOUS } from '../../src/core/call/caller.ts'
import type { BackendContext } from '../../src/core/call/context.ts'
import type { AuthDeclaration } from '../../src/core/operation/credential.ts'
import { completeOperation } from '../../src/core/operation/defaults.ts'
import { operation } from '../../src/core/operation/define.ts'
import type { OperationRules } from '../../src/core/operation/rules.ts'
import { prepareSchemas } from '../../src/schemas/index.ts'
import { createMemoryLog } from '../../src/testing/fakes/memory-log.ts'

export type ContextOptions = Partial<BackendContext> & { rules?: OperationRules; auth?: AuthDeclaration }

export const KEY = '0196d4f0-0000-7000-8000-000000000001'

export function backendContext({ rules = {}, auth, ...more }: ContextOptions = {}): BackendContext {
  const backend = { kind: 'any' }
  const definition = operation('v1:orders.getItem', { ...rules, backend, ...(auth && { auth }) } as never)
  const declared = completeOperation(definition, prepareSchemas(definition), {
    ...backend,
    usesAuth: true,
    execute: () => undefined,
  })
  const { timeoutMs, retry } = declared
  const given: Partial<BackendContext> = {
    caller: ANONYMOUS,
    requestId: 'asked-1',
    sessionId: undefined,
    traceparent: undefined,
    signal: new AbortController().signal,
    attempt: 1,
    tryNumber: 1,
    key: KEY,
    log: createMemoryLog([]),
    operation: declared,
    terms: timeoutMs === undefined ? { retry } : { timeoutMs, retry },
    remainingMs: timeoutMs,
    answer: undefined,
    credential: async () => undefined,
    expectAnswer: async () => {},
    queued: (turn) => turn,
    ...more,
  }
  return given as BackendContext
}

/** Credentials as an OAuth cache supplies them: each `refused` moves on to the next token, if there is one. */
export function tokens(...values: readonly string[]): { credential: BackendContext['credential']; refused: string[] } {
  const refused: string[] = []
  let at = 0
  return {
    refused,
    async credential() {
      const value = values[at] ?? ''
      const fresh = at === values.length - 1
      return {
        headers: { Authorization: `Bearer ${value}` },
        refused() {
          refused.push(value)
          if (!fresh) at++
          return !fresh
        },
      }
    },
  }
}
