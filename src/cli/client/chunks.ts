/** Reads a chunked result and verifies each checksum and the checksum chain. OpenCALL, "Checksum Chain Semantics". */
import { hash } from 'node:crypto'
import { Fault } from '../../core/fault.ts'
import type { Envelope, Remote } from './remote.ts'

interface ChunkAnswer extends Envelope {
  cursor: string | null
  chunk?: { offset: number; length: number; checksum: string; checksumPrevious: string | null }
  encoding?: 'utf8' | 'base64'
  data?: string
  total?: number
}

const ASK_AGAIN_MS = 250

/** Works while the server still produces the result: it then waits for the next chunk. */
export async function* readChunks(remote: Remote, address: string): AsyncGenerator<Uint8Array> {
  let cursor: string | null = ''
  let previous: string | null = null
  let offset = 0
  while (cursor !== null) {
    const query: string = cursor === '' ? '' : `?cursor=${encodeURIComponent(cursor)}`
    const { status, envelope } = await remote.ask(address + query)
    const answer = envelope as ChunkAnswer
    if (status >= 400 && status !== 429) throw failedMidway(answer, offset)
    if (!answer.chunk) {
      await remote.wait(answer.retryAfterMs ?? ASK_AGAIN_MS)
      continue
    }
    const bytes = Buffer.from(answer.data ?? '', answer.encoding ?? 'utf8')
    const problem = problemOf(bytes, answer.chunk, offset, previous)
    if (problem !== undefined) throw damaged(problem)
    yield bytes
    offset += bytes.length
    previous = answer.chunk.checksum
    cursor = answer.cursor
    if (cursor === null && answer.total !== undefined && answer.total !== offset)
      throw damaged(`the server announced ${answer.total} bytes and sent ${offset}`)
  }
}

function problemOf(
  bytes: Uint8Array,
  chunk: NonNullable<ChunkAnswer['chunk']>,
  offset: number,
  previous: string | null,
): string | undefined {
  if (chunk.offset !== offset) return `a chunk begins at byte ${chunk.offset} instead of ${offset}`
  if (chunk.length !== bytes.length) return `the chunk at byte ${offset} has ${bytes.length} bytes, not ${chunk.length}`
  if (chunk.checksum !== `sha256:${hash('sha256', bytes, 'hex')}`)
    return `the chunk at byte ${offset} has a wrong checksum`
  if (chunk.checksumPrevious !== previous) return `the chunk at byte ${offset} does not follow the one before it`
  return undefined
}

function damaged(problem: string): Fault {
  return new Fault(
    'upstream',
    `The result arrived damaged: ${problem}. Discard the output and fetch the result again.`,
    {
      code: 'DAMAGED_RESULT',
    },
  )
}

function failedMidway({ error }: Envelope, offset: number): Fault {
  const code = error?.code ?? 'FAILED'
  return new Fault('upstream', `${code}: ${error?.message ?? 'no reason was given'} (after ${offset} bytes)`, { code })
}
