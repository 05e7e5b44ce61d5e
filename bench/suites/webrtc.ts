/**
 * Frames of 100 bytes over a WebRTC data channel, compared with the library werift alone. Both send at a fixed pace: at
 * full speed the library loses packets on the way to its reader, and what is measured is how often it sends them again.
 */
import { join } from 'node:path'
import { ComparedFrames, type FrameSubject } from '../frame-rounds.ts'
import { startHost, startReaders } from '../processes.ts'
import type { Suite } from './suite.ts'

const SUITE = 'webrtc'
const LIMIT = 'werift'
const BYTES = 'callplane, bytes'
const OF_LIMIT = 0.7

export const webrtc: Suite = async ({ quick, trial, folder, say }) => {
  const rounds = trial ? 1 : quick ? 5 : 15
  const durationMs = trial ? 50 : quick ? 300 : 1_000
  const limit = await startHost(LIMIT, { contender: 'webrtc-bare' })
  const ours = await startHost('callplane', { contender: 'frames-callplane', data: join(folder, 'webrtc') })
  const readers = startReaders('webrtc')
  try {
    const subjects: FrameSubject[] = [
      { name: LIMIT, host: limit, open: {} },
      { name: BYTES, host: ours, open: { operation: 'v1:Frames.Paced' } },
    ]
    say(`webrtc: ${rounds} rounds of ${durationMs} ms, frames over one data channel`)
    const compared = await ComparedFrames.measure({ suite: SUITE, subjects, readers, count: 1, rounds, durationMs })
    return { rows: compared.rows(), goals: [compared.goal(BYTES, OF_LIMIT)] }
  } finally {
    await Promise.all([readers.stop(), limit.stop(), ours.stop()])
  }
}
