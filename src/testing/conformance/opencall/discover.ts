/**
 * Finds operations for the roles, from the server's registry and from a call of each. An operation with side effects is
 * called only if the caller allows it.
 */
import { randomUUID } from 'node:crypto'
import { isJsonObject, type JsonObject } from '../../../core/json.ts'
import { invalidArguments } from '../../samples/samples.ts'
import { type JsonMembers, shown } from '../assertions.ts'
import type { Parts, Target } from '../case.ts'
import { Casting, type Discovery, type DiscoveryOptions, NeedsToken } from '../discovery.ts'
import { expectStatus, type HttpAnswer, parseJson } from '../http.ts'
import { awaitEnd, chunkPath } from './following.ts'
import { NO_OPERATION, needsKey, type OpenCallPart, Subject } from './subject.ts'
import { unsubscribe } from './subscribing.ts'

const LATER = /^v(?!1:)\d+:(.+)$/

export async function discoverOpenCall(target: Target, options: DiscoveryOptions): Promise<Discovery> {
  const server = new Subject(target)
  const listed = await server.send('/.well-known/ops')
  if (listed.status === 401 || listed.status === 403) throw new NeedsToken(target.token !== undefined)
  parseJson(await expectStatus(200, Promise.resolve(listed)))
  const entries = (await server.operations()).filter(({ op }) => typeof op === 'string')
  // A server that always requires authentication would refuse every check.
  if ((await post(server, server.describe(NO_OPERATION, {}), randomUUID())).status === 401) {
    throw new NeedsToken(target.token !== undefined)
  }
  const casting = new Casting(target, options)

  for (const entry of entries) {
    const part = server.describe(String(entry.op), entry)
    if (casting.mayCall(part.op, effectsOf(entry), partsOf(entry))) await tryOut(server, part, casting)
  }
  for (const entry of entries) await findRemoved(server, String(entry.op), casting)
  return casting.result()
}

/** The roles that an operation could have if it were called. */
function partsOf({ executionModel, mediaSchema, sideEffecting }: JsonMembers): (keyof Parts)[] {
  if (hasMedia(mediaSchema)) return ['upload']
  if (executionModel === 'stream') return ['stream']
  if (executionModel === 'async') return ['async', 'chunked']
  return sideEffecting === false ? ['sync'] : ['effect']
}

/** An operation that does not declare its effects is not called: a skipped check is better than harm. */
function effectsOf({ sideEffecting }: JsonMembers): 'none' | 'some' | 'unknown' {
  if (sideEffecting === false) return 'none'
  return sideEffecting === true ? 'some' : 'unknown'
}

function hasMedia(mediaSchema: unknown): boolean {
  return Array.isArray(mediaSchema) ? mediaSchema.length > 0 : isJsonObject(mediaSchema)
}

async function tryOut(server: Subject, part: OpenCallPart, casting: Casting): Promise<void> {
  const { op, entry } = part
  if (hasMedia(entry.mediaSchema)) return casting.cast('upload', op)
  const requestId = randomUUID()
  const answer = await post(server, part, requestId)
  const body = readBody(answer)
  if (answer.status === 401) return casting.needToken(op, partsOf(entry))
  if (answer.status === 403) return casting.leaveOut(op, 'gets 403: the token lacks a scope')
  if (answer.status === 410) return casting.cast('removed', op)
  if (answer.status >= 400) {
    const why = `${answer.status}: ${shown((body.error as JsonMembers | undefined)?.message ?? '')}`
    return casting.needArguments(op, why, partsOf(entry))
  }
  casting.called(op, part.args)
  if (invalidArguments(part.argsSchema, part.args).length > 0) casting.cast('validated', op)
  if (body.state === 'streaming') return castStream(server, op, requestId, casting)
  if (entry.deprecated === true) return casting.cast('deprecated', op)
  if (body.state === 'error') return castFailing(part, casting)
  if (answer.status === 202 && body.state !== 'complete') return castAsync(server, part, requestId, body, casting)
  if (Object.keys(part.args).length === 0 && entry.sideEffecting === false) casting.cast('lenient', op)
  if (body.location !== undefined) return casting.cast('file', op)
  castSync(part, casting)
}

function castSync({ op, entry, example }: OpenCallPart, casting: Casting): void {
  casting.cast(entry.sideEffecting === false ? 'sync' : 'effect', op)
  if (entry.sideEffecting === false) {
    if (casting.plays('sync') !== op) casting.cast('second', op)
  }
  if (example.fails !== undefined) casting.cast('failing', op)
  if (LATER.test(op)) casting.cast('successor', op)
}

async function castStream(server: Subject, op: string, requestId: string, casting: Casting): Promise<void> {
  casting.cast('stream', op)
  await unsubscribe(server, requestId)
}

/** Generated arguments may fail in the operation's domain, such as an id that does not exist. */
function castFailing({ op, args, entry, example }: OpenCallPart, casting: Casting): void {
  if (entry.executionModel !== 'sync') return
  casting.called(op, args, { ...example, fails: example.fails ?? { args } })
  casting.cast('failing', op)
}

async function castAsync(
  server: Subject,
  part: OpenCallPart,
  requestId: string,
  { location }: JsonObject,
  casting: Casting,
): Promise<void> {
  const uri = isJsonObject(location) && typeof location.uri === 'string' ? location.uri : `/ops/${requestId}`
  const { body } = await awaitEnd(server, uri)
  const chunk = body.state === 'complete' ? await server.send(chunkPath(requestId)) : undefined
  const chunked = chunk?.status === 200 && isJsonObject(readBody(chunk).chunk)
  if (chunked) casting.cast('chunked', part.op)
  // A chunked result is not inline, so another operation is preferred for the role.
  if (body.state === 'complete' && !chunked && body.location === undefined) casting.cast('async', part.op, true)
  else if (body.state === 'complete') casting.cast('async', part.op)
}

/** For a later version whose v1 is not listed: the v1 may be a removed operation. */
async function findRemoved(server: Subject, op: string, casting: Casting): Promise<void> {
  const name = LATER.exec(op)?.[1]
  if (name === undefined || casting.plays('removed') !== undefined) return
  const first = `v1:${name}`
  const { status } = await server.send('/call', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ op: first, args: {} }),
  })
  if (status === 410) casting.cast('removed', first)
}

function post(server: Subject, { op, args, entry }: OpenCallPart, requestId: string): Promise<HttpAnswer> {
  const ctx = { requestId, ...(needsKey(entry) && { idempotencyKey: randomUUID() }) }
  const headers = { 'content-type': 'application/json' }
  return server.send('/call', { method: 'POST', headers, body: JSON.stringify({ op, args, ctx }) })
}

/** Accepts any body: the cases report its flaws. */
function readBody(answer: HttpAnswer): JsonObject {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(answer.bytes))
    return isJsonObject(value as never) ? (value as JsonObject) : {}
  } catch {
    return {}
  }
}
