/** "Operation Registry" and "Self-Description Endpoint". */
import {
  ideally,
  type JsonMembers,
  must,
  mustBeObject,
  mustBeOneOf,
  mustBeText,
  mustEqual,
  should,
} from '../../assertions.ts'
import { type Level, NotApplicable } from '../../case.ts'
import { expectStatus, parseJson } from '../../http.ts'
import { defineCase } from '../define.ts'
import { hashesIn } from '../hashes.ts'
import { NO_OPERATION } from '../subject.ts'

const WELL_KNOWN = '/.well-known/ops'

/** Defines a case for a field that every entry has. The specification's own examples omit some of these fields. */
function entryField(
  field: string,
  number: number,
  check: (value: unknown, of: string, entry: JsonMembers) => void,
  level?: Level,
) {
  return defineCase(
    `entry-${field}`,
    `every registry entry has ${field}`,
    [number],
    async (server) => {
      for (const entry of await server.operations()) check(entry[field], `${field} of ${String(entry.op)}`, entry)
    },
    level,
  )
}

function mustBeBoolean(value: unknown, of: string): void {
  must(typeof value === 'boolean', `${of} is not a boolean.`)
}

function mustBeQuantity(value: unknown, of: string): void {
  must(typeof value === 'number' && value >= 0, `${of} is not a number.`)
}

export const registryCases = [
  defineCase(
    'registry-document',
    'GET /.well-known/ops is a JSON object with callVersion and operations',
    [245, 274, 275, 276],
    async (server) => {
      const { callVersion, operations } = parseJson(await expectStatus(200, server.send(WELL_KNOWN)))
      mustEqual(callVersion, '2026-02-10', 'callVersion')
      must(Array.isArray(operations) && operations.length > 0, 'operations is not an array with operations in it.')
      const names = operations.map(({ op }) => op)
      mustEqual(new Set(names).size, names.length, 'The number of different names')
    },
  ),

  entryField('argsSchema', 247, mustBeObject),
  entryField('resultSchema', 248, mustBeObject),
  entryField('sideEffecting', 251, mustBeBoolean),
  entryField('idempotencyRequired', 252, mustBeBoolean, 'should'),
  entryField('executionModel', 253, (value, of) => mustBeOneOf(value, ['sync', 'async', 'stream'], of)),
  entryField('maxSyncMs', 254, mustBeQuantity, 'should'),
  entryField(
    'ttlSeconds',
    256,
    (value, of, { executionModel }) => {
      if (executionModel !== 'sync' || value !== undefined) mustBeQuantity(value, of)
    },
    'should',
  ),
  entryField('authScopes', 257, (value, of) => {
    must(Array.isArray(value) && value.every((scope) => typeof scope === 'string'), `${of} is not an array of texts.`)
  }),
  entryField('cachingPolicy', 258, mustBeText, 'should'),

  defineCase(
    'schemas-describe',
    'schemas describe the arguments and the result of an operation',
    [247, 248],
    async (server) => {
      const { op, args, entry } = await server.part('sync')
      const known = Object.keys((entry.argsSchema as { properties?: object } | undefined)?.properties ?? {})
      const unknown = Object.keys(args).filter((name) => !known.includes(name))
      should(unknown.length === 0, `argsSchema of ${op} does not describe ${unknown.join(', ')}.`)
      should(
        Object.keys(mustBeObject(entry.resultSchema, 'resultSchema')).length > 0,
        `resultSchema of ${op} is empty.`,
      )
    },
    'should',
  ),

  defineCase(
    'effects-declared',
    'an operation with effects needs a key and is not cached; one without effects needs no key',
    [143, 251, 252],
    async (server) => {
      for (const { op, sideEffecting, idempotencyRequired, cachingPolicy } of await server.operations()) {
        if (sideEffecting !== true) continue
        should(
          (cachingPolicy ?? 'none') === 'none',
          `${String(op)} has effects and the caching policy "${cachingPolicy}".`,
        )
        mustBeOneOf(idempotencyRequired, [true, false, undefined], `idempotencyRequired of ${String(op)}`)
      }
      const { effect } = server.target.operations ?? {}
      if (effect === undefined) return
      mustEqual((await server.part('effect')).entry.sideEffecting, true, `sideEffecting of ${effect}`)
    },
    'should',
  ),

  defineCase(
    'registry-contents',
    'the registry holds schemas, execution characteristics, deprecation data and limits',
    [277],
    async (server) => {
      for (const entry of await server.operations()) {
        const op = String(entry.op)
        if (entry.executionModel === 'async') should(entry.ttlSeconds !== 0, `ttlSeconds of ${op} is no limit.`)
        if (entry.deprecated === true) {
          must(Date.parse(mustBeText(entry.sunset, `sunset of ${op}`)) > 0, `sunset of ${op} is not a date.`)
          mustBeText(entry.replacement, `replacement of ${op}`)
        }
        if (entry.executionModel === 'stream') {
          for (const field of ['supportedTransports', 'supportedEncodings']) {
            must(Array.isArray(entry[field]), `${field} of ${op} is not an array.`)
          }
        }
      }
    },
    'should',
  ),

  defineCase(
    'registry-lists-what-can-be-called',
    'an operation is listed exactly if it can be called',
    [276],
    async (server) => {
      const unknown = (await server.call({ op: NO_OPERATION })).envelope.error?.code
      const listed = await server.operations()
      // Called without arguments, which does no harm with an operation that the caller may use.
      const safe = new Set(Object.values(server.target.operations ?? {}))
      for (const op of safe) {
        const entry = listed.find((each) => each.op === op)
        const headers = { 'content-type': 'application/json' }
        const answer = await server.send('/call', { method: 'POST', headers, body: JSON.stringify({ op }) })
        const { error } = parseJson(answer) as { error?: { code?: unknown } }
        const callable = answer.status !== 410 && error?.code !== unknown
        if (callable) must(entry !== undefined, `${op} can be called but is not in the registry.`)
        else must(entry === undefined, `${op} gets ${answer.status}, but it is in the registry.`, { answer })
      }
    },
  ),

  defineCase(
    'registry-caching',
    'the registry has Cache-Control and ETag, and an unchanged one is 304',
    [278, 279],
    async (server) => {
      const { headers } = await expectStatus(200, server.send(WELL_KNOWN))
      const etag = headers.get('etag')
      must((headers.get('cache-control') ?? '') !== '', 'There is no Cache-Control.')
      must(etag !== null, 'There is no ETag.')
      const same = await expectStatus(304, server.send(WELL_KNOWN, { headers: { 'if-none-match': etag } }))
      mustEqual(same.bytes.length, 0, 'The number of bytes of a 304')
      await expectStatus(200, server.send(WELL_KNOWN, { headers: { 'if-none-match': '"another"' } }))
    },
  ),

  defineCase(
    'registry-without-hashes',
    'only the ETag identifies a version of the registry, besides schemaHash of the later revision',
    [281],
    async (server) => {
      if ((await server.operations()).length === 0) throw new NotApplicable('The registry is empty.')
      const hashes = hashesIn(await server.registry()).filter((path) => path !== '/schemaHash')
      ideally(hashes.length === 0, `The registry holds hashes at ${hashes.join(', ')}.`)
    },
    'may',
  ),
]
