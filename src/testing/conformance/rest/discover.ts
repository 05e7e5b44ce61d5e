/** Finds tools of a Tool Execution API for the roles, from their annotations and from a call of each. */
import { isJsonObject } from '../../../core/json.ts'
import { invalidArguments } from '../../samples/samples.ts'
import { isMembers, type JsonMembers } from '../assertions.ts'
import type { Target } from '../case.ts'
import { Casting, type Discovery, type DiscoveryOptions, NeedsToken } from '../discovery.ts'
import { sendTo, textOf } from '../http.ts'
import { DISABLED, Subject, type Tool } from './subject.ts'

export async function discoverRest(target: Target, options: DiscoveryOptions): Promise<Discovery> {
  const server = new Subject(target)
  const answer = await sendTo(target, '/tools')
  if (answer.status === 401 || answer.status === 403) throw new NeedsToken(target.token !== undefined)
  const casting = new Casting(target, options)
  for (const name of namesIn(textOf(answer))) {
    const { status, body } = await server.send(`/tools/${encodeURIComponent(name)}`)
    if (status !== 200) continue
    if (!casting.mayCall(name, effectsOf(body), ['sync', 'validated', 'failing', 'lenient', 'file'])) continue
    await tryOut(server, server.describe(name, body), casting)
  }
  return casting.result()
}

function effectsOf({ annotations }: JsonMembers): 'none' | 'some' | 'unknown' {
  const hint = isMembers(annotations) ? annotations.readOnlyHint : undefined
  if (hint === true) return 'none'
  return hint === false ? 'some' : 'unknown'
}

/** The list is not part of the specification: it may be an array of tools, or an object with one. */
function namesIn(text: string): string[] {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return []
  }
  const lists = isJsonObject(value as never) ? Object.values(value as object) : [value]
  const tools: unknown[] = lists.filter(Array.isArray).flat()
  return [
    ...new Set(tools.map((tool) => (isMembers(tool) ? tool.name : tool)).filter((name) => typeof name === 'string')),
  ]
}

async function tryOut(server: Subject, tool: Tool, casting: Casting): Promise<void> {
  const { status, body } = await server.attempt(tool.path, tool.body)
  if (status === 401) throw new NeedsToken(server.target.token !== undefined)
  const disabled = status === 403 && body.error === DISABLED.error
  if (status !== 200 && status !== 500 && !disabled) return casting.leaveOut(tool.op, `gets ${status}`)
  casting.called(tool.op, tool.args)
  if (invalidArguments(tool.argsSchema, tool.args).length > 0) casting.cast('validated', tool.op)
  if (body.isError === true || tool.example.fails !== undefined) casting.cast('failing', tool.op)
  if (body.isError === true) return
  casting.cast('sync', tool.op)
  const required = (tool.argsSchema as { required?: unknown[] } | undefined)?.required ?? []
  if (required.length === 0) casting.cast('lenient', tool.op)
  if (Array.isArray(body.content) && body.content.some((item) => isMembers(item) && item.type === 'image')) {
    casting.cast('file', tool.op)
  }
}
