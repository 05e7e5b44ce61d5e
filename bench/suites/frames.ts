/**
 * Frames of 100 bytes over WebSocket: the CPU time of a frame compared with the library `ws` written to by hand, and
 * what thousands of open subscriptions cost.
 */
import { join } from 'node:path'
import type { ReadersOptions } from '../frame-readers.ts'
import { type Host, type Readers, startHost, startReaders } from '../processes.ts'
import { relativeOf, summarise } from '../statistics.ts'
import type { Findings, Goal, Row, Settings, Suite } from './suite.ts'

const SUITE = 'frames'
const LIMIT = 'ws, 16 frames a write'
const BYTES = 'callplane, bytes'
const JSON_FRAMES = 'callplane, validated JSON'
const OF_LIMIT = 0.8
const OF_LIMIT_JSON = 0.5
const READERS = [1, 100]
/** The HTTP server accepts 10,000 connections, and the callers need some. */
const IDLE = 9_800
const GOAL_IDLE_KB = 10
/** "Flat": the noise of two measurements on one machine. */
const GOAL_FLAT = 1.15

interface Subject {
  name: string
  host: Host
  operation?: string
}

interface FrameSample {
  cpuUs: number
  perSecond: number
}

export const frames: Suite = async (settings) => {
  const { folder } = settings
  const limit = await startHost(LIMIT, { contender: 'frames-ws' })
  const ours = await startHost('callplane', { contender: 'frames-callplane', data: join(folder, 'frames') })
  const readers = startReaders()
  try {
    const subjects: Subject[] = [
      { name: LIMIT, host: limit },
      { name: BYTES, host: ours, operation: 'v1:Frames.Bytes' },
      { name: JSON_FRAMES, host: ours, operation: 'v1:Frames.Json' },
    ]
    const found: Findings = { rows: [], goals: [] }
    for (const count of READERS) {
      const { rows, goals } = await measureReaders(subjects, readers, count, settings)
      found.rows.push(...rows)
      found.goals.push(...goals)
    }
    const idle = await measureIdle(limit, ours, readers, settings)
    return { rows: [...found.rows, ...idle.rows], goals: [...found.goals, ...idle.goals] }
  } finally {
    await Promise.all([readers.stop(), limit.stop(), ours.stop()])
  }
}

async function measureReaders(
  subjects: readonly Subject[],
  readers: Readers,
  count: number,
  { quick, trial, say }: Settings,
): Promise<Findings> {
  const rounds = trial ? 1 : quick ? 5 : 15
  const durationMs = trial ? 50 : quick ? 300 : 1_000
  say(`frames: ${rounds} rounds of ${durationMs} ms to ${count} readers`)
  const samples: FrameSample[][] = subjects.map(() => [])
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < subjects.length; turn++) {
      const at = (round + turn) % subjects.length
      samples[at]?.push(await measureFrames(subjects[at] as Subject, readers, count, durationMs))
    }
  }
  const [limit = []] = samples
  const ratiosOf = (own: readonly FrameSample[]) =>
    own.map(({ cpuUs }, round) => (limit[round] as FrameSample).cpuUs / cpuUs)
  const rows = subjects.map(({ name }, at): Row => {
    const own = samples[at] ?? []
    return {
      suite: SUITE,
      contender: `${name}, ${count} readers`,
      cpuUs: summarise(own.map(({ cpuUs }) => cpuUs)).median,
      perSecond: summarise(own.map(({ perSecond }) => perSecond)).median,
      limit: `${LIMIT}, ${count} readers`,
      ...relativeOf(ratiosOf(own)),
    }
  })
  const goalOf = (at: number, least: number): Goal => {
    const { relative } = relativeOf(ratiosOf(samples[at] ?? []))
    return {
      suite: SUITE,
      name: `${subjects[at]?.name} to ${count} readers`,
      goal: `at least ${least} of the frames per CPU second of ws, with sixteen frames a write by hand`,
      measured: relative.toFixed(2),
      met: relative >= least,
    }
  }
  return { rows, goals: [goalOf(1, OF_LIMIT), goalOf(2, OF_LIMIT_JSON)] }
}

/** Opens readers, lets the server's code warm up, measures, and closes the readers. */
async function measureFrames(
  { host, operation }: Subject,
  readers: Readers,
  count: number,
  durationMs: number,
): Promise<FrameSample> {
  await readers.open({ port: host.port, readers: count, ...(operation !== undefined && { operation }) })
  await readers.read(durationMs)
  const startedAt = performance.now()
  const before = await host.cpuUs()
  const received = await readers.read(durationMs)
  const cpuUs = (await host.cpuUs()) - before
  const elapsedMs = performance.now() - startedAt
  await readers.close(count)
  if (received === 0) throw new Error(`${host.name}: no frame arrived in ${durationMs} ms.`)
  return { cpuUs: cpuUs / received, perSecond: (received * 1000) / elapsedMs }
}

async function measureIdle(limit: Host, ours: Host, readers: Readers, settings: Settings): Promise<Findings> {
  const { quick, trial, say } = settings
  const idle = trial ? 20 : quick ? 1_000 : IDLE
  const durationMs = trial ? 50 : quick ? 300 : 2_000
  say(`frames: ${idle} idle subscriptions`)
  const active: Subject = { name: BYTES, host: ours, operation: 'v1:Frames.Bytes' }
  const alone = await measureFrames(active, readers, 1, durationMs)
  const bareKb = await idleKb(limit, readers, { port: limit.port, readers: idle, path: '/idle' })
  await readers.close(idle)
  const ownKb = await idleKb(ours, readers, { port: ours.port, readers: idle, operation: 'v1:Frames.Idle' })
  const among = await measureFrames(active, readers, 1, durationMs)
  const ratio = among.cpuUs / alone.cpuUs
  return {
    rows: [
      { suite: SUITE, contender: 'ws, idle sockets', figures: { 'kB of heap each': bareKb } },
      { suite: SUITE, contender: 'callplane, idle subscriptions', figures: { 'kB of heap each': ownKb } },
      { suite: SUITE, contender: `${BYTES}, beside ${idle} idle subscriptions`, ...among },
    ],
    goals: [
      {
        suite: SUITE,
        name: 'memory of an idle subscription',
        goal: `below ${GOAL_IDLE_KB} kB of heap beyond a bare ws socket`,
        measured: `${(ownKb - bareKb).toFixed(1)} kB (${idle} subscriptions)`,
        met: ownKb - bareKb < GOAL_IDLE_KB,
      },
      {
        suite: SUITE,
        name: `CPU of a frame beside ${idle} idle subscriptions`,
        goal: `at most ${GOAL_FLAT} of that without them`,
        measured: ratio.toFixed(2),
        met: ratio <= GOAL_FLAT,
      },
    ],
  }
}

async function idleKb(host: Host, readers: Readers, options: ReadersOptions): Promise<number> {
  // Some are opened first: the first subscriptions load code.
  await readers.open({ ...options, readers: 20 })
  const before = await host.ask<number>('heapBytes')
  await readers.open(options)
  const after = await host.ask<number>('heapBytes')
  return (after - before) / options.readers / 1000
}
