/** Finds tools for the roles. The list does not say which tools have effects, so few may be called. */
import type { JsonObject } from '../../../core/json.ts'
import { invalidArguments } from '../../samples/samples.ts'
import type { Target } from '../case.ts'
import { Casting, type Discovery, type DiscoveryOptions, NeedsToken } from '../discovery.ts'
import { bareId, type Dialect, Subject } from './subject.ts'

export async function discoverTools(target: Target, options: DiscoveryOptions, dialect: Dialect): Promise<Discovery> {
  const server = new Subject(target, dialect)
  const { status } = await server.send('/tools')
  if (status === 401 || status === 403) throw new NeedsToken(target.token !== undefined)
  const casting = new Casting(target, options)
  const tools = await server.list()
  const seen = new Set<string>()

  for (const tool of tools) {
    const id = bareId(tool)
    if (seen.has(id)) continue
    seen.add(id)
    if (!casting.mayCall(id, 'unknown', ['sync', 'effect', 'validated', 'failing', 'versions'])) continue
    await tryOut(server, id, tool as JsonObject, casting)
    if (tools.filter((each) => bareId(each) === id).length > 1) casting.cast('versions', id)
  }
  return casting.result()
}

async function tryOut(server: Subject, id: string, tool: JsonObject, casting: Casting): Promise<void> {
  const part = server.describe(id, tool)
  const { status, body, result } = await server.run(part)
  if (status === 401) throw new NeedsToken(server.target.token !== undefined)
  if (status === 422) return casting.needArguments(id, `422: ${String(body.message)}`, ['sync'])
  if (status !== 200) return casting.leaveOut(id, `gets ${status}`)
  casting.called(id, part.args)
  if (invalidArguments(part.argsSchema, part.args).length > 0) casting.cast('validated', id)
  if (result.success === false || part.example.fails !== undefined) casting.cast('failing', id)
  if (result.success === true) {
    casting.cast('sync', id)
    casting.cast('effect', id, part.example.counts !== undefined)
  }
}
