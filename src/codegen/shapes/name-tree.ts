/** The operations as a tree of namespaces, in which every member has a name of its own in the language. */
import { FreeNames } from '../free-names.ts'
import type { ShapedOperation } from './shape.ts'

export interface Namespace {
  /** The path of the namespace in the registry: `orders.items`, or '' for the root. */
  readonly path: string
  /** The name of its type. */
  readonly typeName: string
  readonly namespaces: readonly { readonly member: string; readonly namespace: Namespace }[]
  readonly operations: readonly { readonly member: string; readonly shaped: ShapedOperation }[]
}

export interface NameRules {
  /** The name of a member for a part of an operation's name. */
  memberName(part: string): string
  /** A free name for the type of a namespace. */
  typeName(path: string): string
  /** Names that members of the root cannot have. */
  taken: readonly string[]
}

interface Node {
  path: string
  children: Map<string, Node>
  operations: Map<string, ShapedOperation>
}

/** The first major of an operation is at the root, as in `client.orders.getItem`; others are below `v2` and so on. */
export function nameTree(operations: readonly ShapedOperation[], rules: NameRules): Namespace {
  const root: Node = { path: '', children: new Map(), operations: new Map() }
  for (const shaped of operations) {
    const { major, namespace } = shaped.operation
    const path = [...(major === 1 ? [] : [`v${major}`]), ...(namespace?.split('.') ?? [])]
    let node = root
    for (const part of path) {
      const known = node.children.get(part)
      const child: Node = known ?? {
        path: node.path === '' ? part : `${node.path}.${part}`,
        children: new Map(),
        operations: new Map(),
      }
      if (!known) node.children.set(part, child)
      node = child
    }
    node.operations.set(shaped.operation.name, shaped)
  }
  return named(root, rules, rules.taken)
}

function named(node: Node, rules: NameRules, taken: readonly string[]): Namespace {
  const free = new FreeNames(taken)
  const typeName = rules.typeName(node.path)
  // Namespaces first: an operation with the same name as a namespace gets a number.
  const namespaces = [...node.children].sort(byName).map(([part, child]) => ({
    member: free.take(rules.memberName(part)),
    namespace: named(child, rules, []),
  }))
  const operations = [...node.operations].sort(byName).map(([, shaped]) => ({
    member: free.take(rules.memberName(shaped.operation.base)),
    shaped,
  }))
  return { path: node.path, typeName, namespaces, operations }
}

function byName([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : 1
}
