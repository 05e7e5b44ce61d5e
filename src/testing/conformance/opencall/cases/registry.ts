/** "Operation Registry" and "Self-Description Endpoint". */

import { type JsonMembers, must, mustBeObject, mustBeOneOf, mustBeText, mustEqual } from '../../assertions.ts'
import { Skip } from '../../case.ts'
import { expectStatus, parseJson } from '../../http.ts'
import { defineCase } from '../define.ts'
import { hashesIn } from '../hashes.ts'
import type { Subject } from '../subject.ts'

const WELL_KNOWN = '/.well-known/ops'

/** One case for a field that every entry has. */
function entryField(field: string, number: number, check: (value: unknown, of: string) => void) {
  return defineCase(`entry-${field}`, `every registry entry has ${field}`, [number], async (server) => {
    for (const entry of await server.operations()) check(entry[field], `${field} of ${String(entry.op)}`)
  })
}

function mustBeBoolean(value: unknown, of: string): void {
  must(typeof value === 'boolean', `${of} is not a boolean.`)
}

async function schemaOf(server: Subject, part: 'add' | 'report', field: string): Promise<JsonMembers> {
  const entry = await server.part(part)
  return mustBeObject(entry[field], `${field} of ${entry.op}`)
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

  defineCase('entry-argsSchema', 'argsSchema is a JSON Schema of the arguments', [247], async (server) => {
    for (const { op, argsSchema } of await server.operations()) mustBeObject(argsSchema, `argsSchema of ${String(op)}`)
    const { properties, required } = await schemaOf(server, 'add', 'argsSchema')
    mustEqual(Object.keys(mustBeObject(properties, 'properties')).sort(), ['a', 'b'], 'The arguments of add')
    mustEqual([...(required as string[])].sort(), ['a', 'b'], 'The required arguments of add')
  }),

  defineCase('entry-resultSchema', 'resultSchema is a JSON Schema of the result', [248], async (server) => {
    for (const { op, resultSchema } of await server.operations()) {
      mustBeObject(resultSchema, `resultSchema of ${String(op)}`)
    }
    mustEqual((await schemaOf(server, 'add', 'resultSchema')).type, 'number', 'The type of the result of add')
    const { properties } = await schemaOf(server, 'report', 'resultSchema')
    mustEqual(Object.keys(mustBeObject(properties, 'properties')).sort(), ['month', 'rows'], 'The result of a report')
  }),

  entryField('sideEffecting', 251, mustBeBoolean),
  entryField('idempotencyRequired', 252, mustBeBoolean),
  entryField('executionModel', 253, (value, of) => mustBeOneOf(value, ['sync', 'async', 'stream'], of)),
  entryField('maxSyncMs', 254, (value, of) => must(typeof value === 'number' && value >= 0, `${of} is not a number.`)),
  entryField('ttlSeconds', 256, (value, of) => must(typeof value === 'number' && value >= 0, `${of} is not a number.`)),
  entryField('authScopes', 257, (value, of) => {
    must(Array.isArray(value) && value.every((scope) => typeof scope === 'string'), `${of} is not an array of texts.`)
  }),
  entryField('cachingPolicy', 258, mustBeText),

  defineCase(
    'effects-declared',
    'what has effects, needs a key and must not be cached is declared so',
    [143, 251, 252],
    async (server) => {
      const flags = ({ sideEffecting, idempotencyRequired, cachingPolicy }: JsonMembers) => [
        sideEffecting,
        idempotencyRequired,
        cachingPolicy,
      ]
      mustEqual(flags(await server.part('note')), [true, true, 'none'], 'What is declared of a note')
      const [effects, key] = flags(await server.part('add'))
      mustEqual([effects, key], [false, false], 'What is declared of add')
    },
  ),

  defineCase(
    'registry-contents',
    'the registry holds schemas, execution characteristics, deprecation data and limits',
    [277],
    async (server) => {
      const { op, argsSchema, resultSchema, ...report } = await server.part('report')
      for (const schema of [argsSchema, resultSchema]) {
        mustEqual(mustBeObject(schema, `A schema of ${op}`).type, 'object', `The type in a schema of ${op}`)
      }
      mustEqual([report.executionModel, report.sideEffecting], ['async', false], `How ${op} is executed`)
      for (const limit of ['maxSyncMs', 'ttlSeconds'] as const) {
        must(Number(report[limit]) > 0, `${limit} of ${op} is no limit.`)
      }

      const { deprecated, sunset, replacement } = await server.part('deprecated')
      mustEqual(deprecated, true, 'deprecated')
      must(Date.parse(mustBeText(sunset, 'sunset')) > 0, `${String(sunset)} is not a date.`)
      mustBeText(replacement, 'replacement')

      const { mediaSchema } = await server.part('describe')
      const [slot] = Array.isArray(mediaSchema) ? mediaSchema : []
      const { name, required, acceptedTypes, maxBytes } = mustBeObject(slot, 'mediaSchema[0]')
      mustEqual([name, required], ['file', true], 'name and required of the attachment')
      must(Array.isArray(acceptedTypes) && acceptedTypes.length > 0, 'acceptedTypes of the attachment are none.')
      must(Number(maxBytes) > 0, 'maxBytes of the attachment is no limit.')

      for (const entry of await server.operations()) {
        if (entry.executionModel !== 'stream') continue
        for (const field of ['supportedTransports', 'supportedEncodings']) {
          must(Array.isArray(entry[field]), `${field} of ${String(entry.op)} is not an array.`)
        }
      }
    },
  ),

  defineCase(
    'registry-lists-what-can-be-called',
    'an operation is listed exactly if it can be called',
    [276],
    async (server) => {
      const names = [...new Set(Object.values(server.names))]
      const listed = (await server.operations()).map(({ op }) => op)
      const answers = await Promise.all(
        names.map(async (op) => ({ op, code: (await server.call({ op })).envelope.error?.code })),
      )
      const callable = answers.filter(({ code }) => code !== 'UNKNOWN_OP' && code !== 'OP_REMOVED')
      mustEqual(
        names.filter((op) => listed.includes(op)),
        callable.map(({ op }) => op),
        'What is listed, of the operations that can be called,',
      )
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
    'the ETag is all there is to tell one registry from another',
    [281],
    async (server) => {
      mustEqual(hashesIn(await server.registry()), [], 'Fields of the registry that hold a hash')
      if ((await server.operations()).length === 0) throw new Skip('The registry is empty.')
    },
  ),
]
