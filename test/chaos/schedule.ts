/** When which fault happens to which node. All of it follows from the seed. */
import { type Drawn, FAULTS, type FaultKind, type FaultName } from './faults.ts'

export interface PlannedFault extends Omit<Drawn, 'other'> {
  atMs: number
  name: FaultName
}

export interface ScheduleOptions {
  faults: number
  ms: number
  /** Only these kinds. Default: all. */
  only?: readonly FaultName[]
  random(below: number): number
}

export function planFaults({ faults, ms, only, random }: ScheduleOptions): PlannedFault[] {
  const kinds = (Object.entries(FAULTS) as [FaultName, FaultKind][]).filter(([name]) => !only || only.includes(name))
  const total = kinds.reduce((sum, [, { weight }]) => sum + weight, 0)
  const draw = (): FaultName => {
    let at = random(total)
    for (const [name, { weight }] of kinds) {
      at -= weight
      if (at < 0) return name
    }
    return kinds[0]?.[0] as FaultName
  }
  const plan = Array.from({ length: faults }, () => ({
    atMs: random(Math.max(1, Math.floor(ms))),
    name: draw(),
    node: random(1_000),
    size: random(1_000) / 1_000,
    sign: random(2) === 0 ? (1 as const) : (-1 as const),
  }))
  return plan.sort((a, b) => a.atMs - b.atMs)
}
