/**
 * Operations under the names of tool-shaped protocols. All such protocols share one mapping. It is rebuilt when
 * operations change, so that name collisions are found before a call.
 */
import { Fault } from '../core/fault.ts'
import { compareVersions, lineageOf, tooLongForTool, toolIdOf, toolNameOf } from '../core/operation/names.ts'
import type { Operation } from '../core/operation/operation.ts'
import type { Tool, Tools } from '../core/ports/catalog.ts'
import type { Omission, Registry } from './registry.ts'

/** The engine's view. Protocols see only `Tools`. */
export interface ToolIndex extends Tools {
  /** The operations that collide with each other or with one of `beside`. */
  objections(operations: readonly Operation[], beside: readonly Operation[]): readonly Omission[]
}

type Lists = (operation: Operation) => boolean

/** How operations get their tool names. */
interface Naming {
  toolkit: string
  /** True if the name of the tool has no namespace. Its id always has one. */
  isBare: (operation: Operation) => boolean
}

/**
 * `toolkit` replaces the namespace of an operation that has none. `lists` says which operations a protocol can express.
 * `report` is called once for each operation whose name is too long for a tool. `isBare` says which tools are named
 * without their namespace.
 */
export function createTools(
  registry: Registry,
  toolkit: string,
  lists: Lists,
  report: (omission: Omission) => void = () => {},
  isBare: Naming['isBare'] = () => false,
): ToolIndex {
  if (!/^\w[\w.-]*$/.test(toolkit)) {
    throw new Fault('malformed', `"${toolkit}" cannot be a toolkit: use letters, digits and "_".`)
  }
  const naming = { toolkit, isBare }
  const told = new Set<string>()
  const fits = (operation: Operation) => {
    if (!lists(operation)) return false
    const why = tooLongForTool(operation.name, isBare(operation) ? undefined : toolkit)
    if (why && !told.has(operation.key)) report({ operation, why })
    if (why) told.add(operation.key)
    return !why
  }
  let index = indexTools(registry.operations, naming, fits)
  /** Rebuilds the index if the operations have changed. */
  const current = () => {
    if (index.of !== registry.operations) index = indexTools(registry.operations, naming, fits)
    return index
  }
  const latest = (of: readonly Tool[] | undefined, now: number) =>
    of?.findLast(({ operation }) => isServed(registry, operation, now))?.operation
  const underVersion = rememberVersion()
  return {
    byId(id, version, now) {
      const known = current()
      return latest(version === undefined ? known.byId.get(id) : underVersion(known, id, version), now)
    },
    byName(name, now) {
      const { byName, pinned } = current()
      return latest(byName.get(name) ?? pinned.get(name), now)
    },
    list: (now) =>
      [...current().byName.values()].flatMap((own) => {
        const operation = latest(own, now)
        return operation && own[0] ? [{ ...own[0], operation }] : []
      }),
    versions: (now) => current().tools.filter(({ operation }) => isServed(registry, operation, now)),
    objections(operations, beside) {
      const names = new ToolNames(naming, lists)
      for (const operation of beside) names.add(operation)
      return operations.flatMap((operation) => {
        const why = names.add(operation)
        return why ? [{ operation, why }] : []
      })
    },
  }
}

type Index = ReturnType<typeof indexTools>

/**
 * Caches the last lookup, because most calls use the same tool as the call before. Building and looking up the key took
 * 0.2 µs.
 */
function rememberVersion(): (index: Index, id: string, version: string) => readonly Tool[] | undefined {
  let last: { index: Index; id: string; version: string; tools: readonly Tool[] } | undefined
  return (index, id, version) => {
    if (last && last.index === index && last.id === id && last.version === version) return last.tools
    const tools = index.byVersion.get(`${id}@${version}`)
    if (tools) last = { index, id, version, tools }
    return tools
  }
}

function indexTools(operations: readonly Operation[], naming: Naming, lists: Lists) {
  const tools = operations
    .filter(lists)
    .map((operation) => toolOf(operation, naming))
    .sort((a, b) => compareTexts(a.id, b.id) || compareVersions(a.operation.version, b.operation.version))
  const names = new ToolNames(naming, lists)
  for (const { operation } of tools) {
    const why = names.add(operation)
    if (why) throw why
  }
  return {
    of: operations,
    tools,
    byId: Map.groupBy(tools, (tool) => tool.id),
    byVersion: Map.groupBy(tools, ({ id, operation }) => `${id}@${operation.version}`),
    byName: Map.groupBy(
      tools.toSorted((a, b) => compareTexts(a.name, b.name)),
      (tool) => tool.name,
    ),
    pinned: Map.groupBy(tools, (tool) => pinnedName(tool)),
  }
}

function toolOf(operation: Operation, { toolkit, isBare }: Naming): Tool {
  const { name } = operation
  return { id: toolIdOf(name, toolkit), name: toolNameOf(name, isBare(operation) ? undefined : toolkit), operation }
}

/** The tool names in use, to find collisions. */
class ToolNames {
  readonly #naming: Naming
  readonly #lists: Lists
  readonly #ids = new Map<string, Tool>()
  readonly #versions = new Map<string, Tool>()
  readonly #names = new Map<string, Tool>()
  readonly #pinned = new Map<string, Tool>()

  constructor(naming: Naming, lists: Lists) {
    this.#naming = naming
    this.#lists = lists
  }

  /** Returns a fault and adds nothing if the operation collides with another one. */
  add(operation: Operation): Fault | undefined {
    if (!this.#lists(operation)) return undefined
    try {
      const tool = toolOf(operation, this.#naming)
      this.#refuseCollisions(tool)
      this.#ids.set(tool.id, tool)
      this.#versions.set(versionedId(tool), tool)
      this.#names.set(tool.name, tool)
      this.#pinned.set(pinnedName(tool), tool)
      return undefined
    } catch (thrown) {
      if (thrown instanceof Fault) return thrown
      throw thrown
    }
  }

  #refuseCollisions(tool: Tool): void {
    const { id, name } = tool
    if (name === 'call') throw namedCall(tool)
    const sameId = this.#ids.get(id)
    if (sameId && lineageOf(sameId.operation.name) !== lineageOf(tool.operation.name)) throw collision(sameId, tool, id)
    const version = versionedId(tool)
    const sameVersion = this.#versions.get(version)
    if (sameVersion && sameVersion.operation.key !== tool.operation.key) throw collision(sameVersion, tool, version)
    const claims = [
      [name, this.#names.get(name)],
      [name, this.#pinned.get(name)],
      [pinnedName(tool), this.#names.get(pinnedName(tool))],
    ] as const
    for (const [claimed, by] of claims)
      if (by && by.id !== id) throw collision(by, tool, claimed, this.#remedy(by, tool))
  }

  /** If a missing namespace caused the collision, restoring the namespace is enough. */
  #remedy(first: Tool, other: Tool): string {
    const bare = [first, other].some(({ operation }) => this.#naming.isBare(operation))
    return bare ? 'Rename one of them, or let one keep its namespace.' : 'Rename one of them.'
  }
}

function versionedId({ id, operation }: Tool): string {
  return `${id}@${operation.version}`
}

function pinnedName({ name, operation }: Tool): string {
  return `${name}_v${operation.name.major}`
}

function isServed(registry: Registry, operation: Operation, now: number): boolean {
  return registry.isServed(operation, now)
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Only a bare name can be `call`. In OXP `/tools/call` is another path, so a tool of that name could not be read. */
function namedCall({ operation }: Tool): Fault {
  const message = `${operation.name.full} cannot be the tool "call": the path /tools/call is reserved. Let it keep its namespace.`
  return new Fault('malformed', message, { code: 'INVALID_REGISTRY' })
}

function collision(first: Tool, other: Tool, name: string, remedy = 'Rename one of them.'): Fault {
  const both = `${first.operation.name.full} and ${other.operation.name.full}`
  return new Fault('malformed', `${both} would both be the tool "${name}". ${remedy}`, {
    code: 'INVALID_REGISTRY',
  })
}
