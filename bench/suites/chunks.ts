/**
 * A 1 GiB chunked result, written and read at the same time. Every byte is checked and the server's memory is watched.
 */
import { createHash } from 'node:crypto'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fetchOnce } from '../fetch-once.ts'
import { startHost } from '../processes.ts'
import { callRequest } from '../traffic.ts'
import type { Row, Suite } from './suite.ts'

const GOAL_MB = 150

type Encoding = 'binary' | 'json'

interface Chunk {
  bytes: Buffer
  state: string
  cursor: string | undefined
  checksum: string
  checksumPrevious: string | undefined
}

export const chunks: Suite = async ({ quick, folder, say }) => {
  const totalBytes = quick ? 64 * 2 ** 20 : 2 ** 30
  const rows: Row[] = []
  for (const encoding of ['binary', 'json'] as const) {
    say(`chunks: ${totalBytes / 2 ** 20} MiB written and read back, ${encoding}`)
    const data = join(folder, `chunks-${encoding}`)
    const host = await startHost('callplane', { contender: 'callplane', chunkedBytes: totalBytes, data })
    try {
      const { rssMb } = await host.memory()
      const startedAt = performance.now()
      await readAll(host.port, totalBytes, encoding)
      const seconds = (performance.now() - startedAt) / 1000
      const { peakMb } = await host.memory()
      const figures = { 'MiB/s': totalBytes / 2 ** 20 / seconds, 'RSS before MB': rssMb, 'peak RSS MB': peakMb }
      rows.push({ suite: 'chunks', contender: `callplane (${encoding})`, figures })
    } finally {
      await host.stop()
    }
  }
  const peakMb = Math.max(...rows.map(({ figures }) => figures?.['peak RSS MB'] ?? Number.POSITIVE_INFINITY))
  return {
    rows,
    goals: [
      {
        suite: 'chunks',
        name: 'memory for a chunked result',
        goal: `${totalBytes / 2 ** 20} MiB written and read back below ${GOAL_MB} MB`,
        measured: `peak ${peakMb.toFixed(0)} MB`,
        met: peakMb < GOAL_MB,
      },
    ],
  }
}

/** Follows the cursors from the start of the call, while the operation still writes the result. */
async function readAll(port: number, totalBytes: number, encoding: Encoding): Promise<void> {
  const { body } = callRequest('v1:Bytes.Make', {}, `chunks-${encoding}`)
  const accepted = await fetchOnce(port, '/call', { headers: { 'Content-Type': 'application/json' }, body })
  if (accepted.status !== 202) throw new Error(`The call was not accepted: ${accepted.body}`)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  try {
    let received = 0
    let previous: string | undefined
    for (let cursor: string | undefined, ended = false; !ended; ) {
      const chunk = await fetchChunk(
        agent,
        port,
        `/ops/chunks-${encoding}/chunks${cursor ? `?cursor=${cursor}` : ''}`,
        encoding,
      )
      if (!chunk) {
        await pause(5)
        continue
      }
      const checksum = `sha256:${createHash('sha256').update(chunk.bytes).digest('hex')}`
      if (chunk.checksum !== checksum) throw new Error(`The chunk at ${received} has the wrong checksum.`)
      if (chunk.checksumPrevious !== previous)
        throw new Error(`The chunk at ${received} does not follow the one before.`)
      received += chunk.bytes.length
      previous = checksum
      cursor = chunk.cursor
      ended = chunk.state === 'complete'
    }
    if (received !== totalBytes) throw new Error(`${received} bytes came instead of ${totalBytes}.`)
  } finally {
    agent.destroy()
  }
}

/** Returns `undefined` if the next chunk is not available yet. */
async function fetchChunk(agent: Agent, port: number, path: string, encoding: Encoding): Promise<Chunk | undefined> {
  const { status, headers, body } = await fetchOnce(port, path, {
    agent,
    headers: encoding === 'binary' ? { Accept: 'application/octet-stream' } : {},
  })
  if (status !== 200) throw new Error(`A chunk was answered with ${status}: ${body.toString('utf8', 0, 600)}`)
  if (headers['content-type'] === 'application/octet-stream') {
    return {
      bytes: body,
      state: String(headers['call-state']),
      cursor: headers['call-cursor'] as string | undefined,
      checksum: String(headers['call-chunk-checksum']),
      checksumPrevious: headers['call-chunk-checksum-previous'] as string | undefined,
    }
  }
  const envelope = JSON.parse(body.toString())
  if (!envelope.chunk) return undefined
  return {
    bytes: Buffer.from(envelope.data, 'base64'),
    state: envelope.state,
    cursor: envelope.cursor ?? undefined,
    checksum: envelope.chunk.checksum,
    checksumPrevious: envelope.chunk.checksumPrevious ?? undefined,
  }
}
