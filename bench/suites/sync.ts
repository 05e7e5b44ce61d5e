/** A sync call of `v1:Calculator.Add` through every protocol, compared with bare servers and other frameworks. */
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { type Costs, measureFresh, type Server } from '../fresh-processes.ts'
import { keepInstalled } from '../installed.ts'
import { type Host, startHost } from '../processes.ts'
import { type Asked, sameReplies } from '../same-replies.ts'
import { mean, ratioOfCosts } from '../statistics.ts'
import type { Row, Settings, Suite } from './suite.ts'
import { syncGoals } from './sync-goals.ts'
import { HELD_TO_LIMIT, SUBJECTS, type Subject } from './sync-subjects.ts'

const CONNECTIONS = 32

export const sync: Suite = async ({ quick, trial, folder, say }) => {
  const subjects = keepInstalled(
    SUBJECTS.filter(({ main }) => main || trial || !quick),
    say,
  )
  const { peerGenerations, ...length } = lengthOf({ quick, trial })
  const costs = await measureFresh(
    subjects.map((subject) => serverOf(subject, folder, peerGenerations)),
    {
      ...length,
      connections: CONNECTIONS,
      polls: true,
      check: (hosts) => sameReplies(askedOf(subjects, hosts)),
      say: (line) => say(`sync: ${line}`),
    },
  )
  return { rows: subjects.map((subject) => rowOf(subject, costs)), goals: syncGoals(costs) }
}

/** A full run takes about ten minutes on two idle cores, most of it for starting and warming up. */
function lengthOf({ quick, trial }: Pick<Settings, 'quick' | 'trial'>) {
  if (trial) {
    return { generations: 1, peerGenerations: 1, windows: 1, windowMs: 30, warmUpCalls: 0, warmUpCpuMs: 0 }
  }
  if (quick) {
    return { generations: 2, peerGenerations: 2, windows: 10, windowMs: 40, warmUpCalls: 10_000, warmUpCpuMs: 600 }
  }
  // After 10,000 calls the bare server's code is fully optimised, but much of ours is not.
  return { generations: 12, peerGenerations: 4, windows: 24, windowMs: 40, warmUpCalls: 40_000, warmUpCpuMs: 1_800 }
}

/** Those that are held to a part of a limit need a narrow interval. The rest is far from its goal or has none. */
function serverOf({ name, wire, options }: Subject, folder: string, peerGenerations: number): Server {
  return {
    name,
    ...(!HELD_TO_LIMIT.has(name) && { generations: peerGenerations }),
    traffic: wire,
    start() {
      const data = mkdtempSync(join(folder, 'sync-'))
      return startHost(name, { ...options, data }, join(data, 'output.log'))
    },
  }
}

function askedOf(subjects: readonly Subject[], hosts: ReadonlyMap<string, Host>): Asked[] {
  const asked = new Map<string, Asked>(
    subjects.map(({ name, wire }) => [name, { host: hosts.get(name) as Host, wire, like: undefined }]),
  )
  return subjects.map(({ name, limit }) => ({
    ...(asked.get(name) as Asked),
    like: name === limit ? undefined : asked.get(limit),
  }))
}

function rowOf({ name, limit }: Subject, costs: Costs): Row {
  const own = costs.get(name) ?? []
  const { value, low, high } = ratioOfCosts(own, costs.get(limit) ?? [])
  const row: Row = { suite: 'sync', contender: name, cpuUs: mean(own), relative: value, limit }
  return name === limit ? row : { ...row, interval: { low, high } }
}
