/** The operations that replace the HTTP addresses of calls. On message connections their names are reserved. */
import type { Caller } from '../../../core/call/caller.ts'
import type { Reply } from '../../../core/call/reply.ts'
import { Fault } from '../../../core/fault.ts'
import type { JsonObject } from '../../../core/json.ts'
import type { Calls } from '../../../core/ports/calls.ts'
import type { Identify } from '../../../core/ports/guard.ts'
import type { Environment } from '../../../core/ports/runtime.ts'
import { chunkWithData, decodeCursor, encodeChunk } from '../codec.ts'
import type { RequestEnvelope, ResponseEnvelope } from '../wire.ts'

export interface BuiltInParts {
  calls: Pick<Calls, 'poll' | 'cancel' | 'chunk'>
  base64: Environment['base64']
  encode(reply: Reply): ResponseEnvelope
  /** Sends every later state of a call. */
  push(requestId: string, caller: Caller | undefined, first: ResponseEnvelope): void
}

export type BuiltIn = (
  parts: BuiltInParts,
  caller: Caller | undefined,
  target: string,
  args: JsonObject,
) => Promise<object>

const BUILT_IN: ReadonlyMap<string, BuiltIn> = new Map<string, BuiltIn>([
  [
    'v1:getOperation',
    async ({ calls, encode, push }, caller, target, { watch }) => {
      const reply = await calls.poll(caller, target)
      const found = encode(reply)
      if (watch === true && !hasEnded(reply)) push(target, caller, found)
      return found
    },
  ],
  ['v1:cancelOperation', async ({ calls, encode }, caller, target) => encode(await calls.cancel(caller, target))],
  [
    'v1:getChunk',
    async ({ calls, base64 }, caller, target, args) => {
      const position = () => decodeCursor(cursorIn(args))
      const reply = await calls.chunk(caller, target, position)
      const chunk = encodeChunk(reply, position())
      return reply.chunk ? chunkWithData(chunk, reply.chunk.bytes, base64) : chunk
    },
  ],
])

/** `undefined` if the name is not one of these. */
export function builtIn(name: string): BuiltIn | undefined {
  return BUILT_IN.get(name)
}

/** The response of a built-in operation: state `complete`, with the envelope of the other call as its result. */
export async function answerBuiltIn(
  act: BuiltIn,
  parts: BuiltInParts,
  { args, ctx }: RequestEnvelope,
  requestId: string,
  identify: Identify,
): Promise<ResponseEnvelope> {
  const target = targetOf(args)
  const result = (await act(parts, await identify(), target, args)) as JsonObject
  const { sessionId } = ctx
  return { requestId, ...(sessionId !== undefined && { sessionId }), state: 'complete', result }
}

export function hasEnded({ state }: Reply): boolean {
  return state === 'complete' || state === 'error'
}

function targetOf({ requestId }: JsonObject): string {
  if (typeof requestId === 'string') return requestId
  throw new Fault('invalid-input', 'Set "args.requestId" to the request id of the call.', {
    details: { field: 'args.requestId' },
  })
}

function cursorIn({ cursor }: JsonObject): string | undefined {
  if (cursor === undefined || typeof cursor === 'string') return cursor
  throw new Fault('malformed', '"args.cursor" must be a string: the cursor of the last chunk.', {
    code: 'INVALID_CURSOR',
  })
}
