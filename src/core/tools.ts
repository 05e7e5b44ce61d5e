/**
 * Operations under the names that tool-shaped protocols give them. One mapping for all of them, made at start-up, so
 * that two operations which would answer to the same name are found before anybody calls one.
 */
import { Fault } from './fault.ts'
import { compareVersions, toolIdOf, toolNameOf } from './names.ts'
import type { Operation } from './operation.ts'
import type { Registry } from './registry.ts'

export interface Tools {
  /** By tool id and full version; without a version the highest there is. */
  byId(id: string, version: string | undefined, now: number): Operation | undefined
  /** By tool name: `orders_getItem` is the newest major, `orders_getItem_v1` that one. */
  byName(name: string, now: number): Operation | undefined
  /** One entry for each name that stands for itself, in the order of their names. */
  list(now: number): readonly Tool[]
  /** Every version of every tool, in the order of their ids. */
  versions(now: number): readonly Tool[]
}

export interface Tool {
  /** `orders.getItem`, without a version. */
  id: string
  /** `orders_getItem` */
  name: string
  operation: Operation
}

/** `toolkit` stands in for the namespace an operation does not have. `lists` says which operations a protocol can express. */
export function createTools(registry: Registry, toolkit: string, lists: (operation: Operation) => boolean): Tools {
  if (!/^\w[\w.-]*$/.test(toolkit)) {
    throw new Fault('malformed', `"${toolkit}" cannot be a toolkit: use letters, digits and "_".`)
  }
  const tools = registry.keys
    .map((key) => registry.byKey(key) as Operation)
    .filter(lists)
    .map(
      (operation): Tool => ({
        id: toolIdOf(operation.name, toolkit),
        name: toolNameOf(operation.name, toolkit),
        operation,
      }),
    )
    .sort((a, b) => compareTexts(a.id, b.id) || compareVersions(a.operation.version, b.operation.version))
  const byId = Map.groupBy(tools, (tool) => tool.id)
  const byName = Map.groupBy(tools, (tool) => tool.name)
  const pinned = Map.groupBy(tools, (tool) => pinnedName(tool))
  refuseCollisions(byId, (tool) => tool.operation.name.full.replace(/^v\d+:/, ''))
  const byVersion = Map.groupBy(tools, ({ id, operation }) => `${id}@${operation.version}`)
  refuseCollisions(byVersion, ({ operation }) => operation.key)
  refuseCollisions(
    new Map([...byName].map(([name, own]) => [name, [...own, ...(pinned.get(name) ?? [])]])),
    (tool) => tool.id,
  )

  const latest = (of: readonly Tool[] | undefined, now: number) =>
    of?.findLast(({ operation }) => isServed(registry, operation, now))?.operation
  return {
    byId(id, version, now) {
      return latest(version === undefined ? byId.get(id) : byVersion.get(`${id}@${version}`), now)
    },
    byName: (name, now) => latest(byName.get(name) ?? pinned.get(name), now),
    list: (now) =>
      [...byName.values()].flatMap((own) => {
        const operation = latest(own, now)
        return operation && own[0] ? [{ ...own[0], operation }] : []
      }),
    versions: (now) => tools.filter(({ operation }) => isServed(registry, operation, now)),
  }
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

function refuseCollisions(groups: ReadonlyMap<string, readonly Tool[]>, lineage: (tool: Tool) => string): void {
  for (const [name, own] of groups) {
    const first = own[0]
    const other = own.find((tool) => first && lineage(tool) !== lineage(first))
    if (!first || !other) continue
    const both = `${first.operation.name.full} and ${other.operation.name.full}`
    throw new Fault('malformed', `${both} would both be the tool "${name}". Rename one of them.`, {
      code: 'INVALID_REGISTRY',
    })
  }
}
