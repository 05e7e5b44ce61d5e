/** Finds the name of an operation as a tool. The registry does not have it, so the server's tools are asked. */
import { parseName, tooLongForTool, toolIdOf, toolNameOf } from '../../../../src/core/operation/names.ts'
import type { Entry, ToolName } from './wire.ts'

/** Gets JSON from a path below the server's address. `undefined` if there is nothing. */
export type GetJson = (path: string) => Promise<unknown>

/** The name that a server gives to operations without a namespace, unless it is configured. */
const DEFAULT_TOOLKIT = 'callplane'

/** `undefined` if the server does not offer the operation as a tool. */
export async function findToolName(
  entry: Entry,
  operations: readonly Entry[],
  get: GetJson,
): Promise<ToolName | undefined> {
  const name = parseName(entry.op)
  const known = await offeredAs(entry, [DEFAULT_TOOLKIT, undefined], get)
  if (known !== undefined) return { name: known, id: await findId(entry, DEFAULT_TOOLKIT, operations, get) }
  if (name.namespace !== undefined) return undefined
  const { id } = (await listTools(get)).find((tool) => tool.id.includes(`${toolIdOf(name, '')}@`)) ?? {}
  const toolkit = id?.slice(0, id.indexOf('.'))
  const configured = toolkit === undefined ? undefined : await offeredAs(entry, [toolkit], get)
  if (toolkit === undefined || configured === undefined) return undefined
  return { name: configured, id: await findId(entry, toolkit, operations, get) }
}

export function needsFile({ mediaSchema = [] }: Entry): boolean {
  return mediaSchema.some(({ required }) => required)
}

async function offeredAs(
  entry: Entry,
  toolkits: readonly (string | undefined)[],
  get: GetJson,
): Promise<string | undefined> {
  const name = parseName(entry.op)
  for (const toolkit of toolkits) {
    if (tooLongForTool(name, toolkit)) continue
    const pinned = `${toolNameOf(name, toolkit)}_v${name.major}`
    // MCP also has tools that need files. The Tool Execution API does not know those.
    if (needsFile(entry) || (await get(`tools/${pinned}`)) !== undefined) return pinned
  }
  return undefined
}

/**
 * An id without a version means the newest version of all majors. Where there are several majors, the id needs the full
 * version, which only the list of tools has.
 */
async function findId({ op }: Entry, toolkit: string, operations: readonly Entry[], get: GetJson): Promise<string> {
  const name = parseName(op)
  const id = toolIdOf(name, toolkit)
  const lineage = op.slice(op.indexOf(':'))
  if (!operations.some((other) => other.op !== op && other.op.endsWith(lineage))) return id
  const versions = (await listTools(get))
    .filter((tool) => tool.id.startsWith(`${id}@`) && Number.parseInt(tool.version, 10) === name.major)
    .map((tool) => tool.version)
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
  return `${id}@${versions.at(-1) ?? `${name.major}.0.0`}`
}

async function listTools(get: GetJson): Promise<{ id: string; version: string }[]> {
  const { items = [] } = ((await get('tools')) ?? {}) as { items?: { id: string; version: string }[] }
  return items
}
