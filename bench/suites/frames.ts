/** Frames of 100 bytes over WebSocket: the CPU time of a frame compared with the library `ws` written to by hand. */
import { join } from 'node:path'
import { ComparedFrames, type FrameSubject } from '../frame-rounds.ts'
import { startHost, startReaders } from '../processes.ts'
import { measureIdle } from './frames-idle.ts'
import type { Findings, Suite } from './suite.ts'

const SUITE = 'frames'
const LIMIT = 'ws, 16 frames a write'
const BYTES = 'callplane, bytes'
const JSON_FRAMES = 'callplane, validated JSON'
const OF_LIMIT = 0.8
const OF_LIMIT_JSON = 0.5
const READERS = [1, 100]

export const frames: Suite = async (settings) => {
  const { folder, quick, trial, say } = settings
  const rounds = trial ? 1 : quick ? 5 : 15
  const durationMs = trial ? 50 : quick ? 300 : 500
  const limit = await startHost(LIMIT, { contender: 'frames-ws' })
  const ours = await startHost('callplane', { contender: 'frames-callplane', data: join(folder, 'frames') })
  const readers = startReaders('websocket')
  try {
    const bytes: FrameSubject = { name: BYTES, host: ours, open: { operation: 'v1:Frames.Bytes' } }
    const json: FrameSubject = { name: JSON_FRAMES, host: ours, open: { operation: 'v1:Frames.Json' } }
    const subjects = [{ name: LIMIT, host: limit, open: {} }, bytes, json]
    const found: Findings = { rows: [], goals: [] }
    for (const count of READERS) {
      say(`frames: ${rounds} rounds of ${durationMs} ms to ${count} readers`)
      const rowName = (name: string) => `${name}, ${count} readers`
      const compared = await ComparedFrames.measure({
        suite: SUITE,
        subjects,
        readers,
        count,
        rounds,
        durationMs,
        rowName,
      })
      found.rows.push(...compared.rows())
      found.goals.push(compared.goal(BYTES, OF_LIMIT), compared.goal(JSON_FRAMES, OF_LIMIT_JSON))
    }
    const idle = await measureIdle({ suite: SUITE, limit, active: bytes, readers, settings })
    return { rows: [...found.rows, ...idle.rows], goals: [...found.goals, ...idle.goals] }
  } finally {
    await Promise.all([readers.stop(), limit.stop(), ours.stop()])
  }
}
