/**
 * What thousands of idle subscriptions cost: their memory, and the CPU time of another stream's frames beside them. For
 * the latter the same server alternates between few and many subscriptions.
 */
import { fetchOnce } from '../fetch-once.ts'
import { type FrameSample, type FrameSubject, measureFrames } from '../frame-rounds.ts'
import type { Host, Readers } from '../processes.ts'
import { callBody } from '../readers/call-body.ts'
import type { ReadersOptions } from '../readers/reader.ts'
import { relativeOf, summarise } from '../statistics.ts'
import type { Findings, Settings } from './suite.ts'

/** The HTTP server accepts 10,000 connections, and the callers need some. */
const IDLE = 9_800
/** They are open all the time: the first subscriptions load code. */
const FEW = 20
const GOAL_IDLE_KB = 10
/** "Flat": the noise of two measurements on one machine. */
const GOAL_FLAT = 1.15

export interface IdleParts {
  suite: string
  /** The bare server. */
  limit: Host
  /** The stream whose frames are measured beside the idle ones. */
  active: FrameSubject
  readers: Readers
  settings: Settings
}

export async function measureIdle({ suite, limit, active, readers, settings }: IdleParts): Promise<Findings> {
  const { quick, trial, say } = settings
  const idle = trial ? FEW : quick ? 1_000 : IDLE
  const rounds = trial ? 1 : quick ? 2 : 5
  const durationMs = trial ? 50 : quick ? 300 : 1_000
  say(`frames: ${rounds} rounds with ${FEW} and with ${idle} idle subscriptions`)

  await readers.open({ port: limit.port, readers: FEW, path: '/idle' })
  const bareKb = await heapKb(limit, readers, { port: limit.port, readers: idle, path: '/idle' })
  await readers.close(idle + FEW)

  const ours = active.host
  const open = { port: ours.port, operation: 'v1:Frames.Idle' }
  await readers.open({ ...open, readers: FEW })
  const sample = () => measureFrames(active, readers, 1, durationMs)
  const few: FrameSample[] = [await sample()]
  const many: FrameSample[] = []
  const ownKb: number[] = []
  for (let round = 0; round < rounds; round++) {
    const session = `idle-${round}`
    ownKb.push(await heapKb(ours, readers, { ...open, readers: idle, session }))
    many.push(await sample())
    await unsubscribe(ours, session, idle)
    await readers.close(idle)
    few.push(await sample())
  }
  // Each is compared with the samples before and after it.
  const beside = (round: number) => ((few[round] as FrameSample).cpuUs + (few[round + 1] as FrameSample).cpuUs) / 2
  const { relative, spread } = relativeOf(many.map(({ cpuUs }, round) => cpuUs / beside(round)))
  const eachKb = summarise(ownKb).median
  const medianUs = (samples: readonly FrameSample[]) => summarise(samples.map(({ cpuUs }) => cpuUs)).median
  return {
    rows: [
      { suite, contender: 'ws, idle sockets', figures: { 'kB of heap each': bareKb } },
      { suite, contender: 'callplane, idle subscriptions', figures: { 'kB of heap each': eachKb } },
      { suite, contender: `${active.name}, beside ${FEW} idle subscriptions`, cpuUs: medianUs(few) },
      { suite, contender: `${active.name}, beside ${idle} idle subscriptions`, cpuUs: medianUs(many) },
    ],
    goals: [
      {
        suite,
        name: 'memory of an idle subscription',
        goal: `below ${GOAL_IDLE_KB} kB of heap beyond a bare ws socket`,
        measured: `${(eachKb - bareKb).toFixed(1)} kB (${idle} subscriptions)`,
        met: eachKb - bareKb < GOAL_IDLE_KB,
      },
      {
        suite,
        name: `CPU of a frame beside ${idle} idle subscriptions`,
        goal: `at most ${GOAL_FLAT} of that beside ${FEW}`,
        measured: `${relative.toFixed(2)} (${spread.low.toFixed(2)} to ${spread.high.toFixed(2)})`,
        met: relative <= GOAL_FLAT,
      },
    ],
  }
}

/** Opens readers. Returns what each of them takes in the server's process. */
async function heapKb(host: Host, readers: Readers, options: ReadersOptions): Promise<number> {
  const before = await host.ask<number>('heapBytes')
  await readers.open(options)
  const after = await host.ask<number>('heapBytes')
  return (after - before) / options.readers / 1000
}

async function unsubscribe(host: Host, sessionId: string, streams: number): Promise<void> {
  const reply = await fetchOnce(host.port, '/call', callBody('v1:unsubscribeFromStream', { sessionId }))
  const { result } = JSON.parse(reply.body.toString())
  if (result?.ended?.length !== streams) throw new Error(`Not all idle streams have ended: ${reply.body}`)
}
