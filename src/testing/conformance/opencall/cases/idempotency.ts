/** `ctx.idempotencyKey`: when it is required, what a repeat returns, and which caller it belongs to. */
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { must, mustBeOneOf, mustEqual, should, shouldEqual, shown } from '../../assertions.ts'
import { NotApplicable, Skip } from '../../case.ts'
import { expectStatus, parseJson, type RequestInfo } from '../../http.ts'
import { mustFit, requireOtherToken } from '../../parts.ts'
import { defineCase } from '../define.ts'
import { checkEnvelope } from '../envelope.ts'
import { needsKey, type OpenCallPart, type Subject } from '../subject.ts'

/** The unchecked envelope: a flaw in it, such as an old requestId, must not hide whose result it has. */
async function send(server: Subject, { op, args }: OpenCallPart, idempotencyKey?: string, request: RequestInfo = {}) {
  const ctx = { requestId: randomUUID(), ...(idempotencyKey !== undefined && { idempotencyKey }) }
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ op, args, ctx })
  const answer = await server.send('/call', { ...request, method: 'POST', headers, body })
  return { answer, ctx, status: answer.status, envelope: parseJson(answer) }
}

async function withKey(server: Subject, part: OpenCallPart, idempotencyKey: string, request?: RequestInfo) {
  const { answer, envelope } = await send(server, part, idempotencyKey, request)
  await expectStatus(200, Promise.resolve(answer), part.op)
  mustEqual(envelope.state, 'complete', `state of ${part.op}`)
  return envelope.result
}

/** The number of effects so far, if the result has it. */
function effects({ example }: OpenCallPart, result: unknown): number | undefined {
  return example.counts === undefined ? undefined : Number((result as Record<string, unknown>)[example.counts])
}

export const idempotencyCases = [
  defineCase('key-required', 'an operation that requires a key is not run without one', [35], async (server) => {
    const part = await server.part('effect')
    if (part.entry.idempotencyRequired !== true) {
      throw new NotApplicable(`${part.op} does not require an idempotency key.`)
    }
    const before = effects(part, await withKey(server, part, randomUUID()))

    const what = `${part.op} without an idempotencyKey`
    await expectStatus(400, server.call({ op: part.op, args: part.args }), what)
    await expectStatus(400, server.call({ op: part.op, args: part.args, ctx: { requestId: randomUUID() } }), what)

    if (before === undefined) return
    const after = effects(part, await withKey(server, part, randomUUID()))
    mustEqual(after, before + 1, 'The number of effects after two refused calls and one more')
  }),

  defineCase(
    'key-repeated',
    'a repeat with the same key has no second effect and the same outcome',
    [37],
    async (server) => {
      const part = await server.part('effect')
      const key = randomUUID()
      const first = await withKey(server, part, key)
      const again = await withKey(server, part, key)
      const together = await Promise.all([withKey(server, part, key), withKey(server, part, key)])
      const other = await withKey(server, part, randomUUID())

      for (const repeat of [again, ...together]) mustEqual(repeat, first, 'The result of a repeat')
      const count = effects(part, first)
      if (count !== undefined) mustEqual(effects(part, other), count + 1, 'The number of effects after one more key')
      const { answer, ctx } = await send(server, part, key)
      checkEnvelope(answer, ctx)
    },
  ),

  defineCase(
    'key-per-operation',
    "the same key on another operation is that operation's own call",
    [37],
    async (server) => {
      const one = await server.part('effect')
      const others = (await server.operations())
        .filter(({ op }) => op !== one.op && typeof op === 'string' && server.target.examples?.[op] !== undefined)
        .map((entry) => server.describe(String(entry.op), entry))
        .filter(({ entry }) => entry.executionModel === 'sync' && !entry.mediaSchema && entry.deprecated !== true)
      // If keys apply to effects only, another operation with effects shows it.
      others.sort((a, b) => Number(b.entry.sideEffecting) - Number(a.entry.sideEffecting))
      let judged = false
      for (const other of others.slice(0, 4)) {
        const told = await judgeSharedKey(server, one, other)
        judged ||= told && other.entry.sideEffecting === true
      }
      if (!judged) throw new Skip('Name a second operation with side effects and another result in --args.', '--args')
    },
  ),

  defineCase('key-per-caller', "one caller's key does not apply to another caller", [37], async (server) => {
    requireOtherToken(server.target)
    const part = await server.part('effect')
    const key = randomUUID()
    const mine = await withKey(server, part, key)
    const other = await withKey(server, part, randomUUID())
    if (isDeepStrictEqual(mine, other)) throw new Skip(`Every call of ${part.op} has the same result.`)
    const theirs = await withKey(server, part, key, { asOther: true })
    must(!isDeepStrictEqual(theirs, mine), `Another caller with the same key gets ${shown(mine)}.`)
  }),

  defineCase(
    'effects-are-not-cached',
    'an operation with effects runs again for every new key',
    [144],
    async (server) => {
      const part = await server.part('effect')
      const one = await withKey(server, part, randomUUID())
      const two = await withKey(server, part, randomUUID())
      const counted = effects(part, one) !== undefined
      if (counted) must(!isDeepStrictEqual(one, two), 'Two calls with effects got the same result.')
      shouldEqual(part.entry.cachingPolicy ?? 'none', 'none', 'cachingPolicy')
      if (!counted && isDeepStrictEqual(one, two)) {
        throw new Skip(`Every call of ${part.op} has the same result, so a stored result cannot be detected.`, '--args')
      }
    },
  ),

  defineCase('key-on-a-query', 'a key on a query is optional and does not freeze its result', [36], async (server) => {
    const part = await server.part('sync')
    const idempotencyKey = randomUUID()
    const { op, args } = part
    const keyed = { op, args, ctx: { requestId: randomUUID(), idempotencyKey } }
    const { envelope } = await expectStatus(200, server.call(keyed))
    await expectStatus(200, server.call({ op, args }))

    const second = await server.part('second')
    const other = { op: second.op, args: second.args, ctx: { requestId: randomUUID(), idempotencyKey } }
    const { envelope: unfrozen } = await expectStatus(200, server.call(other))
    mustFit(part, envelope.result)
    mustFit(second, unfrozen.result)
  }),
]

/** Returns false if the two results cannot be told apart. */
async function judgeSharedKey(server: Subject, one: OpenCallPart, other: OpenCallPart): Promise<boolean> {
  const key = randomUUID()
  const first = await withKey(server, one, key)
  const fresh = await send(server, other, needsKey(other.entry) ? randomUUID() : undefined)
  const { status, envelope } = await send(server, other, key)
  if (fresh.envelope.state !== 'complete' || isDeepStrictEqual(fresh.envelope.result, first)) return false
  must(
    !isDeepStrictEqual(envelope.result, first),
    `${other.op} with a key that ${one.op} had used gets the result of ${one.op}: ${shown(first)}.`,
  )
  mustBeOneOf(envelope.state, ['complete', 'error'], `state of ${other.op}`)
  should(
    status === fresh.status,
    `${other.op} with a key that only ${one.op} had used gets ${status}, not ${fresh.status}.`,
  )
  return true
}
