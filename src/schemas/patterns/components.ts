/**
 * Finds the nodes of a graph that lie on a common cycle (Tarjan's strongly connected components, without recursion).
 */

export interface Components {
  /** Returns the component of a node. */
  of(node: number): number
  /** Components that contain a cycle. */
  readonly looping: ReadonlySet<number>
}

export function findComponents(size: number, nextOf: (node: number) => readonly number[]): Components {
  const order = new Int32Array(size).fill(-1)
  const low = new Int32Array(size)
  const component = new Int32Array(size).fill(-1)
  const looping = new Set<number>()
  const open: number[] = []
  let counter = 0
  let components = 0

  for (let root = 0; root < size; root++) {
    if (order[root] !== -1) continue
    const path: { node: number; next: readonly number[]; at: number }[] = []
    const enter = (node: number) => {
      order[node] = low[node] = counter++
      open.push(node)
      path.push({ node, next: nextOf(node), at: 0 })
    }
    enter(root)
    for (let frame = path.at(-1); frame; frame = path.at(-1)) {
      const { node, next } = frame
      const to = next[frame.at++]
      if (to === undefined) {
        path.pop()
        const above = path.at(-1)
        if (above) low[above.node] = Math.min(low[above.node] as number, low[node] as number)
        if (low[node] === order[node]) close(node)
      } else if (order[to] === -1) enter(to)
      else if (component[to] === -1) low[node] = Math.min(low[node] as number, order[to] as number)
      if (to === node) looping.add(-1 - node)
    }
  }

  function close(node: number): void {
    const members: number[] = []
    for (let member = open.pop(); member !== undefined; member = open.pop()) {
      component[member] = components
      members.push(member)
      if (member === node) break
    }
    if (members.length > 1 || looping.has(-1 - node)) looping.add(components)
    components++
  }

  return { of: (node) => component[node] as number, looping }
}
