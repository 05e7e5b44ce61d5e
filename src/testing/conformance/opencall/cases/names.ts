/** "Operation Naming Convention", and the life of a name from deprecation to removal. */
import { ideally, must, mustBeText, mustEqual, should, shouldEqual } from '../../assertions.ts'
import { NotApplicable, Skip } from '../../case.ts'
import { expectStatus } from '../../http.ts'
import { mustFit, nameOf } from '../../parts.ts'
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
      if (later.length === 0) throw new NotApplicable('No operation is listed in a version above v1.')
      for (const match of later) {
        const first = `v1:${match?.[2]}`
        if (names.includes(first)) continue
        const { status } = await server.call({ op: first })
        ideally(status === 410, `${first} gets ${status}, not 410, although a later version of it is listed.`)
      }
    },
    'may',
  ),

  defineCase(
    'names-without-version',
    'a name without a valid version is not an operation',
    [12, 18],
    async (server) => {
      const { op, args } = await server.part('sync')
      const bare = op.replace(NAME, '$2')
      for (const name of [bare, `v0:${bare}`, `v01:${bare}`, `v-1:${bare}`, `v1.2:${bare}`, `V1:${bare}`, `:${bare}`]) {
        await expectStatus(400, server.call({ op: name, args }), `The operation "${name}"`)
      }
    },
  ),

  defineCase('versions-are-routes', 'two versions of a name are two operations', [15], async (server) => {
    const known = await server.part('sync')
    const missing = await server.call({ op: known.op.replace(NAME, 'v999:$2'), args: known.args })
    mustEqual(missing.status, 400, 'status for a version that does not exist')
    if (server.target.operations?.successor === undefined) return

    const newer = await server.part('successor')
    const { envelope } = await expectStatus(200, server.invoke(newer))
    const older = await server.call({ op: newer.op.replace(NAME, 'v1:$2'), args: newer.args })

    mustFit(newer, envelope.result)
    if (!('result' in newer.example)) return
    must(JSON.stringify(older.envelope.result) !== JSON.stringify(envelope.result), 'v1 returns the same result as v2.')
  }),

  defineCase(
    'deprecated-is-served',
    'a deprecated operation says so in the registry and is served until its sunset',
    [16, 262, 264, 265, 267],
    async (server) => {
      const part = await server.part('deprecated')
      const { entry } = part
      mustEqual(entry.deprecated, true, 'deprecated')
      const sunset = mustBeText(entry.sunset, 'sunset')
      must(/^\d{4}-\d{2}-\d{2}$/.test(sunset) && !Number.isNaN(Date.parse(sunset)), `${sunset} is not YYYY-MM-DD.`)
      must(NAME.test(mustBeText(entry.replacement, 'replacement')), 'replacement is not the name of an operation.')
      if (Date.parse(sunset) < Date.now()) throw new Skip(`${part.op} is past its sunset.`)

      const { envelope } = await expectStatus([200, 202], server.invoke(part))

      if (envelope.state === 'complete' && 'result' in envelope) mustFit(part, envelope.result)
    },
  ),

  defineCase(
    'deprecation-fields-only-when-deprecated',
    'sunset and replacement are present only with deprecated: true',
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
      const removed = nameOf(server.target, 'removed')
      const answer = await server.call({ op: removed, args: { name: 'Ada' } })
      if (answer.status === 400) throw new Skip(`The server has never had an operation ${removed}.`)

      mustEqual(answer.status, 410, `status for ${removed}`)
      const { error } = answer.envelope
      mustEqual(error?.code, 'OP_REMOVED', 'error.code')
      shouldEqual(error?.cause?.removedOp, removed, 'error.cause.removedOp')
      const { successor } = server.target.operations ?? {}
      if (successor !== undefined) shouldEqual(error?.cause?.replacement, successor, 'error.cause.replacement')
    },
  ),

  defineCase('removed-is-not-listed', 'the registry lists available operations only', [276], async (server) => {
    const removed = nameOf(server.target, 'removed')
    const { status } = await server.call({ op: removed, args: { name: 'Ada' } })
    if (status !== 410) throw new Skip(`${removed} is not a removed operation here.`)
    const names = (await server.operations()).map(({ op }) => op)
    must(!names.includes(removed), `${removed} gets 410, but it is in the registry.`)
    should(names.length > 0, 'The registry lists nothing else either.')
  }),
]
