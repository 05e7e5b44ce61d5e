/** `api.orders.getItem` as a function that knows its name. Every node is made once. */

/** What a leaf of the tree can do, by the name of the operation. */
export interface Leaves {
  call(operation: string, args: unknown, options: unknown): unknown
  start(operation: string, args: unknown, options: unknown): unknown
  resume(operation: string, id: string): unknown
}

/**
 * `path` is the name without its major: `orders.getItem`. `root` has the methods of the client, which come before
 * operations with the same name.
 */
export function createTree(leaves: Leaves, root: Readonly<Record<string, unknown>>): unknown {
  return createNode(leaves, 'v1', '', new Map(Object.entries(root)))
}

function createNode(leaves: Leaves, major: string, path: string, known = new Map<string, unknown>()): unknown {
  const name = `${major}:${path}`
  const own: Record<string, unknown> = {
    start: (args: unknown, options: unknown) => leaves.start(name, args, options),
    resume: (id: string) => leaves.resume(name, id),
    operation: name,
  }
  return new Proxy((args: unknown, options: unknown) => leaves.call(name, args, options), {
    get(_target, key) {
      // A proxy with `then` would be taken for a promise.
      if (typeof key === 'symbol' || key === 'then') return undefined
      if (known.has(key)) return known.get(key)
      if (path !== '' && key in own) return own[key]
      const isMajor = path === '' && /^v[1-9]\d*$/.test(key)
      const below = path === '' ? key : `${path}.${key}`
      const node = createNode(leaves, isMajor ? key : major, isMajor ? '' : below)
      known.set(key, node)
      return node
    },
  })
}
