/**
 * QUIC beside bare use of the same library: calls of `v1:Calculator.Add` over HTTP/3, and frames of 100 bytes over a QUIC
 * stream.
 */
import { join } from 'node:path'
import { createCertificate } from '../../test/fixtures/tls.ts'
import type { TlsFiles } from '../contenders/contender.ts'
import { ComparedFrames, type FrameSubject } from '../frame-rounds.ts'
import { installedVersion } from '../installed.ts'
import { type Host, type Load, startHost, startQuicLoad, startReaders } from '../processes.ts'
import { alternate, measure, ratios, type Sample } from '../rounds.ts'
import { relativeOf, summarise } from '../statistics.ts'
import type { Findings, Settings, Suite } from './suite.ts'

const SUITE = 'quic'
const LIBRARY = '@currentspace/http3'
const CALLS_LIMIT = `${LIBRARY}, calls`
const CALLS = 'callplane, calls'
const FRAMES_LIMIT = `${LIBRARY}, 64 frames a write`
const SINGLE_FRAMES = `${LIBRARY}, one frame a write`
const BYTES = 'callplane, bytes'
const JSON_FRAMES = 'callplane, validated JSON'
const OF_LIMIT = 0.7
const IN_FLIGHT = 32

export const quic: Suite = async (settings) => {
  if (installedVersion(LIBRARY) === undefined) {
    settings.say(`skipped: quic (no ${LIBRARY}; "npm run engines" installs it)`)
    return { rows: [], goals: [] }
  }
  using certificate = createCertificate()
  const tls = { cert: certificate.cert, key: certificate.key }
  const calls = await measureCalls(settings, tls)
  const frames = await measureFrames(settings, tls)
  return { rows: [...calls.rows, ...frames.rows], goals: [...calls.goals, ...frames.goals] }
}

async function measureCalls({ quick, trial, folder, say }: Settings, tls: TlsFiles): Promise<Findings> {
  const rounds = trial ? 1 : quick ? 5 : 21
  const durationMs = trial ? 50 : quick ? 300 : 500
  const warmUpMs = trial ? 0 : quick ? 1_500 : 4_000
  const hosts: Host[] = []
  const quicLoad = startQuicLoad()
  try {
    hosts.push(await startHost(CALLS_LIMIT, { contender: 'quic-calls-bare', tls }))
    hosts.push(await startHost(CALLS, { contender: 'callplane', tls, data: join(folder, 'quic-calls') }))
    const load: Load = {
      ...quicLoad,
      run: ({ port, durationMs: ms }) => quicLoad.run({ port, ca: tls.cert, inFlight: IN_FLIGHT, durationMs: ms }),
    }
    const sample = (host: Host, ms: number) =>
      measure(load, host, { connections: 1, durationMs: ms, traffic: 'sync', keepOpen: true })
    say(`quic: ${rounds} rounds of ${durationMs} ms, ${IN_FLIGHT} calls at a time over one HTTP/3 connection`)
    if (warmUpMs > 0) for (const host of hosts) await sample(host, warmUpMs)
    const samples = await alternate(hosts.length, rounds, (at) => sample(hosts[at] as Host, durationMs))
    return callFindings(samples)
  } finally {
    await Promise.all([quicLoad.stop(), ...hosts.map((host) => host.stop())])
  }
}

function callFindings(samples: readonly Sample[][]): Findings {
  const [limit = [], ours = []] = samples
  const { relative } = relativeOf(ratios(ours, limit))
  return {
    rows: [CALLS_LIMIT, CALLS].map((contender, at) => {
      const own = samples[at] ?? []
      return {
        suite: SUITE,
        contender,
        cpuUs: summarise(own.map(({ cpuUs }) => cpuUs)).median,
        perSecond: summarise(own.map(({ perSecond }) => perSecond)).median,
        limit: CALLS_LIMIT,
        ...relativeOf(ratios(own, limit)),
      }
    }),
    goals: [
      {
        suite: SUITE,
        name: 'a call over HTTP/3',
        goal: `at least ${OF_LIMIT} of the calls per CPU second of the library alone`,
        measured: relative.toFixed(2),
        met: relative >= OF_LIMIT,
      },
    ],
  }
}

async function measureFrames({ quick, trial, folder, say }: Settings, tls: TlsFiles): Promise<Findings> {
  const rounds = trial ? 1 : quick ? 5 : 15
  const durationMs = trial ? 50 : quick ? 300 : 700
  const hosts: Host[] = []
  const start = async (...given: Parameters<typeof startHost>) => {
    const host = await startHost(...given)
    hosts.push(host)
    return host
  }
  const readers = startReaders('quic')
  try {
    const open = { ca: tls.cert }
    const limit = await start(FRAMES_LIMIT, { contender: 'quic-frames-bare', tls })
    const single = await start(SINGLE_FRAMES, { contender: 'quic-frames-bare', tls, framesAWrite: 1 })
    const data = join(folder, 'quic-frames')
    const ours = await start('callplane', { contender: 'frames-callplane', tls, data })
    const subjects: FrameSubject[] = [
      { name: FRAMES_LIMIT, host: limit, open },
      { name: SINGLE_FRAMES, host: single, open },
      { name: BYTES, host: ours, open: { ...open, operation: 'v1:Frames.Bytes' } },
      { name: JSON_FRAMES, host: ours, open: { ...open, operation: 'v1:Frames.Json' } },
    ]
    say(`quic: ${rounds} rounds of ${durationMs} ms, frames over one QUIC stream`)
    const compared = await ComparedFrames.measure({ suite: SUITE, subjects, readers, count: 1, rounds, durationMs })
    return { rows: compared.rows(), goals: [compared.goal(BYTES, OF_LIMIT)] }
  } finally {
    await Promise.all([readers.stop(), ...hosts.map((host) => host.stop())])
  }
}
