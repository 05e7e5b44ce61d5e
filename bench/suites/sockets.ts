/** Calls of `v1:Calculator.Add` over one WebSocket, beside HTTP keep-alive and other libraries over WebSocket. */
import { join } from 'node:path'
import type { HostOptions } from '../host.ts'
import { keepInstalled } from '../installed.ts'
import { type Host, type Load, startHost, startLoad, startSocketLoad } from '../processes.ts'
import { alternate, measure, ratios, type Sample } from '../rounds.ts'
import type { SocketWireName } from '../socket-wires.ts'
import { relativeOf, summarise } from '../statistics.ts'
import type { Goal, Row, Suite } from './suite.ts'

const SUITE = 'sockets'
const OURS = 'callplane over WebSocket'
const HTTP = 'callplane over HTTP'
const OVER_HTTP = 1.3
/** As many calls at a time as the HTTP load has connections. */
const IN_FLIGHT = 32

interface Subject {
  name: string
  options: HostOptions
  /** Absent: over HTTP. */
  wire?: SocketWireName
  needs?: readonly string[]
}

const SUBJECTS: readonly Subject[] = [
  { name: OURS, options: { contender: 'callplane' }, wire: 'opencall', needs: ['ws'] },
  { name: HTTP, options: { contender: 'callplane' } },
  { name: 'Socket.IO', options: { contender: 'sockets-io' }, wire: 'socketIo', needs: ['socket.io'] },
  { name: 'tRPC', options: { contender: 'sockets-trpc' }, wire: 'trpc', needs: ['@trpc/server', 'ws'] },
  { name: 'oRPC', options: { contender: 'sockets-orpc' }, wire: 'orpc', needs: ['@orpc/server', 'ws'] },
]

export const sockets: Suite = async ({ quick, trial, folder, say }) => {
  const subjects = keepInstalled(SUBJECTS, say)
  const rounds = trial ? 1 : quick ? 5 : 21
  const durationMs = trial ? 50 : quick ? 300 : 500
  const warmUpMs = trial ? 0 : quick ? 1_500 : 4_000
  const http = startLoad()
  const socket = startSocketLoad()
  const hosts: Host[] = []
  try {
    for (const [at, { name, options }] of subjects.entries()) {
      hosts.push(await startHost(name, { ...options, data: join(folder, `sockets-${at}`) }))
    }
    const sample = (at: number, ms: number) => {
      const { wire } = subjects[at] as Subject
      const load: Load = wire
        ? { ...socket, run: (given) => socket.run({ ...given, wire, inFlight: IN_FLIGHT }) }
        : http
      return measure(load, hosts[at] as Host, {
        connections: IN_FLIGHT,
        durationMs: ms,
        traffic: 'sync',
        keepOpen: true,
      })
    }
    say(`sockets: ${rounds} rounds of ${durationMs} ms, ${IN_FLIGHT} calls at a time`)
    if (warmUpMs > 0) for (const at of subjects.keys()) await sample(at, warmUpMs)
    const samples = await alternate(subjects.length, rounds, (at) => sample(at, durationMs))
    return {
      rows: subjects.map((subject, at) => rowOf(subject, samples[at] ?? [], samples[0] ?? [])),
      goals: goalsOf(subjects, samples),
    }
  } finally {
    await Promise.all([http.stop(), socket.stop(), ...hosts.map((host) => host.stop())])
  }
}

function rowOf({ name }: Subject, own: readonly Sample[], ours: readonly Sample[]): Row {
  return {
    suite: SUITE,
    contender: name,
    cpuUs: summarise(own.map(({ cpuUs }) => cpuUs)).median,
    perSecond: summarise(own.map(({ perSecond }) => perSecond)).median,
    limit: OURS,
    ...relativeOf(ratios(own, ours)),
  }
}

function goalsOf(subjects: readonly Subject[], samples: readonly Sample[][]): Goal[] {
  const [ours = []] = samples
  return subjects.slice(1).map(({ name }, at) => {
    const { relative } = relativeOf(ratios(ours, samples[at + 1] ?? []))
    const least = name === HTTP ? OVER_HTTP : 1
    return {
      suite: SUITE,
      name: `a call over WebSocket beside ${name}`,
      goal: name === HTTP ? `at least ${OVER_HTTP} times the calls per CPU second` : 'more calls per CPU second',
      measured: relative.toFixed(2),
      met: name === HTTP ? relative >= least : relative > least,
    }
  })
}
