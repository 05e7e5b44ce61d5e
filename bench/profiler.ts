/** A CPU profile of this process between two moments, reported as self time by function. */
import type { Profiler } from 'node:inspector'
import { Session } from 'node:inspector/promises'

export interface ProfileLine {
  /** Share of the time this process was not idle. */
  share: number
  where: string
}

export async function startProfile(): Promise<() => Promise<ProfileLine[]>> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: 200 })
  await session.post('Profiler.start')
  return async () => {
    const { profile } = await session.post('Profiler.stop')
    session.disconnect()
    const names = nameNodes(profile.nodes)
    const times = new Map<string, number>()
    let busy = 0
    for (const [index, id] of (profile.samples ?? []).entries()) {
      const where = names.get(id) ?? 'unknown'
      const us = profile.timeDeltas?.[index] ?? 0
      if (where === '(idle)' || where.includes('node:inspector')) continue
      busy += us
      times.set(where, (times.get(where) ?? 0) + us)
    }
    return [...times].map(([where, us]) => ({ where, share: us / busy })).sort((a, b) => b.share - a.share)
  }
}

type Node = Profiler.ProfileNode

/**
 * Native functions have no file, so the caller's name tells apart the many functions called `run` or `writeUtf8String`.
 */
function nameNodes(nodes: readonly Node[]): Map<number, string> {
  const parents = new Map(nodes.flatMap((node) => (node.children ?? []).map((id) => [id, node] as const)))
  return new Map(
    nodes.map((node) => {
      const parent = parents.get(node.id)
      const native = node.callFrame.url === '' && parent !== undefined && parent.callFrame.url !== ''
      return [node.id, native ? `[native ${nameOf(node)}] ← ${nameOf(parent)}` : nameOf(node)]
    }),
  )
}

function nameOf({ callFrame: { functionName, url, lineNumber } }: Node): string {
  const name = functionName || '(anonymous)'
  const file = url.replace(/^file:\/\/.*?\/(?=src\/|bench\/|node_modules\/)/, '')
  return file === '' ? name : `${name} ${file}:${lineNumber + 1}`
}
