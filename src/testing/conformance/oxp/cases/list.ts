/** Discovery: `GET /health` and `GET /tools`. */
import { type JsonMembers, must, mustBeObject, mustBeOneOf, mustBeText, mustEqual } from '../../assertions.ts'
import { defineCase } from '../define.ts'

const ID = /^[A-Za-z0-9_]+\.[A-Za-z0-9_]+(@([0-9]+|[0-9]+\.[0-9]+\.[0-9]+))?$/

export const listCases = [
  defineCase('health', 'health needs no credential', [], async (server) => {
    const { status } = await server.send('/health', { anonymous: true })
    mustBeOneOf(status, [200, 503], 'status of GET /health')
  }),

  defineCase('tool-list', 'every tool has a unique id, a name, a version and a description', [], async (server) => {
    const tools = await server.list()
    for (const { id, name, version, description } of tools) {
      must(ID.test(mustBeText(id, 'id')), `${String(id)} is not a tool id.`)
      must(/^[A-Za-z0-9_-]{1,64}$/.test(mustBeText(name, 'name')), `${String(name)} is not a tool name.`)
      must(typeof description === 'string', `description of ${String(id)} is not a text.`)
      if (version !== undefined || server.dialect === 'oxp') {
        must(/^\d+\.\d+\.\d+$/.test(mustBeText(version, 'version')), `${String(version)} is not x.y.z.`)
      }
    }
    mustEqual(new Set(tools.map(({ id }) => id)).size, tools.length, 'number of different ids')
  }),

  defineCase('tool-schemas', 'schemas have no references and are where the dialect puts them', [], async (server) => {
    for (const { id, input_schema: input, output_schema: output } of await server.list()) {
      if (input !== undefined || server.dialect === 'otc') {
        const outer = mustBeObject(input, `input_schema of ${String(id)}`)
        if (server.dialect === 'otc') checkParameters(mustBeObject(outer.parameters, 'parameters'), String(id))
        must(!hasReference(outer), `input_schema of ${String(id)} has a $ref.`)
      }
      if (output === undefined || output === null) continue
      must(
        !hasReference(mustBeObject(output, `output_schema of ${String(id)}`)),
        `output_schema of ${String(id)} has a $ref.`,
      )
    }
  }),
]

function checkParameters(parameters: JsonMembers, id: string): void {
  for (const [name, parameter] of Object.entries(mustBeObject(parameters.properties ?? {}, 'properties'))) {
    mustBeText(mustBeObject(parameter, name).description, `description of ${name} of ${id}`)
  }
}

function hasReference(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false
  if (typeof (schema as JsonMembers).$ref === 'string') return true
  return Object.values(schema).some(hasReference)
}
