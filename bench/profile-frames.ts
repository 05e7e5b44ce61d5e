/** Profiles a server that sends frames as fast as its readers read, to find where its CPU time goes. */
import { join } from 'node:path'
import { createCertificate } from '../test/fixtures/tls.ts'
import type { HostOptions } from './host.ts'
import { type Host, startHost, startReaders } from './processes.ts'
import { printProfileOf } from './profile.ts'
import type { ReadersOptions } from './readers/reader.ts'

const WARM_UP_MS = 3_000
const WINDOW_MS = 4_000

interface Profiled {
  options: HostOptions
  readers: number
  operation?: string
}

const BYTES = 'v1:Frames.Bytes'
const JSON_FRAMES = 'v1:Frames.Json'

/** The readers of each transport, and the servers: the bare one first. */
const PROFILES = {
  frames: {
    transport: 'websocket',
    subjects: [
      { options: { contender: 'frames-ws' }, readers: 100 },
      { options: { contender: 'frames-callplane' }, readers: 100, operation: BYTES },
      { options: { contender: 'frames-callplane' }, readers: 100, operation: JSON_FRAMES },
    ],
  },
  'quic-frames': {
    transport: 'quic',
    subjects: [
      { options: { contender: 'quic-frames-bare' }, readers: 1 },
      { options: { contender: 'frames-callplane' }, readers: 1, operation: BYTES },
    ],
  },
  webrtc: {
    transport: 'webrtc',
    subjects: [
      { options: { contender: 'webrtc-bare' }, readers: 1 },
      { options: { contender: 'frames-callplane' }, readers: 1, operation: 'v1:Frames.Paced' },
    ],
  },
} as const satisfies Record<string, { transport: Parameters<typeof startReaders>[0]; subjects: readonly Profiled[] }>

type FrameProfile = keyof typeof PROFILES

export const PROFILED_FRAMES = Object.keys(PROFILES) as readonly FrameProfile[]

export async function printFrameProfiles(name: FrameProfile, folder: string): Promise<void> {
  const { transport, subjects } = PROFILES[name]
  using certificate = createCertificate()
  const tls = transport === 'quic' ? { cert: certificate.cert, key: certificate.key } : undefined
  for (const [at, subject] of subjects.entries()) {
    const { options, readers: count, operation } = subject as Profiled
    const data = join(folder, `profile-${name}-${at}`)
    const host = await startHost(operation ?? options.contender, { ...options, data, ...(tls && { tls }) })
    const readers = startReaders(transport)
    const open: ReadersOptions = { port: host.port, readers: count, ...(tls && { ca: tls.cert }) }
    try {
      await readers.open({ ...open, ...(operation !== undefined && { operation }) })
      await readers.read(WARM_UP_MS)
      const cpuUs = await frameUs(host, () => readers.read(WINDOW_MS))
      await host.ask('startProfile')
      await readers.read(WINDOW_MS)
      await printProfileOf(host, `${transport}, ${count} readers`, cpuUs)
    } finally {
      await Promise.all([readers.stop(), host.stop()])
    }
  }
}

async function frameUs(host: Host, read: () => Promise<number>): Promise<number> {
  const before = await host.cpuUs()
  const frames = await read()
  return ((await host.cpuUs()) - before) / frames
}
