/**
 * Operations under the names that tool-shaped protocols give them. One mapping for all of them, made when
 * operations come and go, so that two which would answer to the same name are found before anybody calls one.
 */
import { Fault } from '../core/fault.ts'
import { compareVersions, lineageOf, tooLongForTool, toolIdOf, toolNameOf } from '../core/names.ts'
import type { Operation } from '../core/operation.ts'
import type { Tool, Tools } from '../core/ports/catalog.ts'
import type { Omission, Registry } from './registry.ts'

/** All of it. Protocols see what `Tools` has. */
export interface ToolIndex extends Tools {
  /** Which of these would be taken for another of them, or for one they are to stand beside. */
  objections(operations: readonly Operation[], beside: readonly Operation[]): readonly Omission[]
}

type Lists = (operation: Operation) => boolean

/** How operations get their names. */
interface Naming {
  toolkit: string
  /** Whether the name of the tool has no namespace. Its id always has one. */
  isBare: (operation: Operation) => boolean
}

/**
 * `toolkit` stands in for the namespace an operation does not have. `lists` says which operations a protocol can
 * express. `report` is told once of each that is left out, because its name is too long for a tool. `isBare` says whose
 * tools are named without their namespace.
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
  /** What is listed changes while the server runs. */
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

/** Most calls are of the tool of the one before: to put its key together and look it up took 0.2 µs. */
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

/** Who answers to which name. */
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

  /** Nothing is added if it would be taken for another: then the fault says for which. */
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

  /** Two that only lost their namespaces need no other names of their own. */
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

/** Only a bare name can be this one. `/tools/call` is a path of its own in OXP, so that nobody could look at the tool. */
function namedCall({ operation }: Tool): Fault {
  const message = `${operation.name.full} cannot be the tool "call": other protocols have that path. Let it keep its namespace.`
  return new Fault('malformed', message, { code: 'INVALID_REGISTRY' })
}

function collision(first: Tool, other: Tool, name: string, remedy = 'Rename one of them.'): Fault {
  const both = `${first.operation.name.full} and ${other.operation.name.full}`
  return new Fault('malformed', `${both} would both be the tool "${name}". ${remedy}`, {
    code: 'INVALID_REGISTRY',
  })
}
