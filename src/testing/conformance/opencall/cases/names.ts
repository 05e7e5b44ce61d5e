/** "Operation Naming Convention", and what becomes of a name when its version ages. */

import { must, mustBeText, mustEqual } from '../../assertions.ts'
import { Skip } from '../../case.ts'
import { expectStatus } from '../../http.ts'
import { defineCase } from '../define.ts'

const NAME = /^v([1-9]\d*):(.+)$/

export const nameCases = [
  defineCase(
    'names-have-versions',
    'every name in the registry starts with v and a positive integer',
    [11, 246],
    async (server) => {
      for (const { op } of await server.operations()) {
        must(NAME.test(mustBeText(op, 'op')), `${String(op)} is not of the form v{N}:namespace.operation.`)
      }
    },
  ),

  defineCase(
    'lineages-start-at-v1',
    'a later version has a v1 that is served or remembered as removed',
    [14],
    async (server) => {
      const names = (await server.operations()).map(({ op }) => String(op))
      const later = names.map((name) => NAME.exec(name)).filter((match) => match !== null && match[1] !== '1')
      if (later.length === 0) throw new Skip('No operation is listed in a version above v1.')
      for (const match of later) {
        const first = `v1:${match?.[2]}`
        if (!names.includes(first)) await expectStatus(410, server.call({ op: first }))
      }
    },
  ),

  defineCase('names-without-version', 'a name without a proper version is no operation', [12, 18], async (server) => {
    const { op } = await server.part('add')
    const bare = op.replace(NAME, '$2')
    for (const name of [bare, `v0:${bare}`, `v01:${bare}`, `v-1:${bare}`, `v1.2:${bare}`, `V1:${bare}`, `:${bare}`]) {
      await expectStatus(400, server.call({ op: name, args: { a: 1, b: 2 } }))
    }
  }),

  defineCase('versions-are-routes', 'two versions of a name are two operations', [15], async (server) => {
    const { op: newer } = await server.part('successor')
    const { op } = await server.part('add')
    const args = { name: 'Ada' }

    const { envelope } = await expectStatus(200, server.call({ op: newer, args }))
    const older = await server.call({ op: newer.replace(NAME, 'v1:$2'), args })
    const missing = await server.call({ op: op.replace(NAME, 'v999:$2'), args: { a: 1, b: 2 } })

    mustEqual(envelope.result, { greeting: 'Hello Ada' }, `result of ${newer}`)
    must(JSON.stringify(older.envelope.result) !== JSON.stringify(envelope.result), 'v1 answers what v2 answers.')
    mustEqual(missing.status, 400, 'status for a version that does not exist')
  }),

  defineCase(
    'deprecated-is-served',
    'a deprecated operation says so in the registry and is served until its sunset',
    [16, 262, 264, 265, 267],
    async (server) => {
      const entry = await server.part('deprecated')
      mustEqual(entry.deprecated, true, 'deprecated')
      const sunset = mustBeText(entry.sunset, 'sunset')
      must(/^\d{4}-\d{2}-\d{2}$/.test(sunset) && !Number.isNaN(Date.parse(sunset)), `${sunset} is not YYYY-MM-DD.`)
      must(NAME.test(mustBeText(entry.replacement, 'replacement')), 'replacement is not the name of an operation.')
      if (Date.parse(sunset) < Date.now()) throw new Skip(`${entry.op} is past its sunset.`)

      const { envelope } = await expectStatus(200, server.call({ op: entry.op, args: { a: 2, b: 3 } }))

      mustEqual(envelope.result, 5, `result of ${entry.op}`)
    },
  ),

  defineCase(
    'deprecation-fields-only-when-deprecated',
    'sunset and replacement stand only beside deprecated: true',
    [262, 264, 267],
    async (server) => {
      for (const { op, deprecated, sunset, replacement } of await server.operations()) {
        if (deprecated === true) continue
        must(deprecated === undefined || deprecated === false, `deprecated of ${String(op)} is not a boolean.`)
        mustEqual([sunset, replacement], [undefined, undefined], `sunset and replacement of ${String(op)}`)
      }
    },
  ),

  defineCase(
    'removed-operation',
    'an operation past its sunset is 410 OP_REMOVED and names its replacement',
    [114, 134, 135, 213, 266],
    async (server) => {
      const { removed, successor } = server.names
      const answer = await server.call({ op: removed, args: { name: 'Ada' } })
      if (answer.status === 400) throw new Skip(`The server has never had an operation ${removed}.`)

      mustEqual(answer.status, 410, `status for ${removed}`)
      mustEqual(answer.envelope.error?.code, 'OP_REMOVED', 'error.code')
      mustEqual(answer.envelope.error?.cause?.removedOp, removed, 'error.cause.removedOp')
      mustEqual(answer.envelope.error?.cause?.replacement, successor, 'error.cause.replacement')
    },
  ),

  defineCase('removed-is-not-listed', 'the registry lists available operations only', [276], async (server) => {
    const { removed } = server.names
    const { status } = await server.call({ op: removed, args: { name: 'Ada' } })
    if (status !== 410) throw new Skip(`${removed} is not a removed operation here.`)
    const names = (await server.operations()).map(({ op }) => op)
    must(!names.includes(removed), `${removed} is removed, and yet in the registry.`)
    await server.part('add')
    await server.part('report')
  }),
]
