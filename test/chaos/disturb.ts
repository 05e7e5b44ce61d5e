/** Carries out the planned faults. Those of one place and one node wait for each other. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Cluster } from './cluster/cluster.ts'
import { FAULTS, type FaultKind, type FaultName } from './faults.ts'
import { type History, nowMs } from './history.ts'
import type { PlannedFault } from './schedule.ts'

/** A fault that has happened. */
export interface Happened {
  name: FaultName
  place: FaultKind['place']
  node: number
  fromMs: number
  toMs: number
}

export interface Disturbance {
  cluster: Cluster
  plan: readonly PlannedFault[]
  other: string | undefined
  history: History
  say(line: string): void
}

export async function disturb({ cluster, plan, other, history, say }: Disturbance): Promise<Happened[]> {
  const happened: Happened[] = []
  const startMs = nowMs()
  const nodeOf = ({ node }: PlannedFault) => node % cluster.nodes.length

  async function carryOut(fault: PlannedFault): Promise<void> {
    const { name, atMs, size } = fault
    const kind: FaultKind = FAULTS[name]
    if (kind.isPossible && !kind.isPossible(cluster, other)) return
    await pause(Math.max(0, startMs + atMs - nowMs()))
    const [node, fromMs] = [nodeOf(fault), nowMs()]
    history.write('fault', { name, node, size })
    await kind.run(cluster, { ...fault, other })
    const done = { name, place: kind.place, node, fromMs, toMs: nowMs() }
    happened.push(done)
    history.write('fault over', done)
    if (happened.length % 25 === 0) say(`${happened.length} of ${plan.length} faults, ${history.calls.length} calls`)
  }

  const lanes = Map.groupBy(plan, (fault) => {
    const { place } = FAULTS[fault.name]
    return place === 'node' || place === 'network' ? `${place} ${nodeOf(fault)}` : place
  })
  await Promise.all(
    [...lanes.values()].map(async (faults) => {
      for (const fault of faults) await carryOut(fault)
    }),
  )
  return happened
}
