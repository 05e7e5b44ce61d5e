/** A CPU profile of this process between two moments, told as self time by function. */
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
    const names = new Map(profile.nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]))
    const times = new Map<string, number>()
    let busy = 0
    for (const [index, id] of (profile.samples ?? []).entries()) {
      const where = names.get(id) ?? 'unknown'
      const us = profile.timeDeltas?.[index] ?? 0
      if (where === '(idle)') continue
      busy += us
      times.set(where, (times.get(where) ?? 0) + us)
    }
    return [...times]
      .map(([where, us]) => ({ where, share: us / busy }))
      .sort((a, b) => b.share - a.share)
  }
}

function nameOf({ functionName, url, lineNumber }: { functionName: string; url: string; lineNumber: number }): string {
  const name = functionName || '(anonymous)'
  const file = url.replace(/^file:\/\/.*?\/(?=src\/|bench\/|node_modules\/)/, '')
  return file === '' ? name : `${name} ${file}:${lineNumber + 1}`
}
