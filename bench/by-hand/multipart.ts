/** Multipart: an envelope and one file, read to its end as it arrives in pieces of 64 KiB. */
import busboy from 'busboy'
import { parseMultipart } from '../../src/wire/http/multipart.ts'
import { nothingToClose, type Pair } from './pair.ts'

const BOUNDARY = '----WebKitFormBoundary7MA4YWxkTrZu0gW'
const TYPE = `multipart/form-data; boundary=${BOUNDARY}`
const PIECE_BYTES = 64 * 1024
const ENVELOPE = JSON.stringify({ op: 'v1:photos.store', args: { album: 'summer' }, ctx: { requestId: 'r1' } })

/** The file has bytes of all values, so that the search for the boundary reads every value. */
function bodyOf(fileBytes: number): Buffer[] {
  const file = Buffer.from(Uint8Array.from({ length: fileBytes }, (_, at) => (at * 31 + (at >> 8)) & 0xff))
  const body = Buffer.concat([
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="envelope"\r\n\r\n${ENVELOPE}\r\n`),
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="photo"; filename="a.jpg"\r\n`),
    Buffer.from('Content-Type: image/jpeg\r\n\r\n'),
    file,
    Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
  ])
  const pieces: Buffer[] = []
  for (let at = 0; at < body.length; at += PIECE_BYTES) pieces.push(body.subarray(at, at + PIECE_BYTES))
  return pieces
}

async function readOurs(pieces: readonly Buffer[]): Promise<number> {
  let next = 0
  let bytes = 0
  const pull = async () => pieces[next++]
  for await (const part of parseMultipart(TYPE, pull, { maxParts: 10, maxHeaderBytes: 16_384 })) {
    for await (const piece of part.bytes) bytes += piece.length
  }
  return bytes
}

function readTheirs(pieces: readonly Buffer[]): Promise<number> {
  return new Promise((resolve, reject) => {
    let bytes = 0
    const parser = busboy({ headers: { 'content-type': TYPE } })
    parser.on('field', (_name, value) => {
      bytes += value.length
    })
    parser.on('file', (_name, stream) => {
      stream.on('data', (piece: Buffer) => {
        bytes += piece.length
      })
    })
    parser.on('error', reject)
    parser.on('close', () => resolve(bytes))
    for (const piece of pieces) parser.write(piece)
    parser.end()
  })
}

function pairOf(name: string, fileBytes: number, times: number): Pair {
  const pieces = bodyOf(fileBytes)
  const workOf = (read: (pieces: readonly Buffer[]) => Promise<number>) => ({
    ...nothingToClose,
    async run(rounds: number) {
      for (let at = 0; at < rounds; at++) {
        const bytes = await read(pieces)
        if (bytes !== ENVELOPE.length + fileBytes) throw new Error(`${bytes} bytes were read of ${name}.`)
      }
    },
  })
  return {
    name: `multipart, ${name}`,
    operation: `an envelope and a file of ${name}`,
    library: 'busboy',
    times,
    ours: () => workOf(readOurs),
    theirs: () => workOf(readTheirs),
  }
}

export const multipartSmall = pairOf('4 KiB', 4 * 1024, 200)
export const multipartLarge = pairOf('1 MiB', 1024 * 1024, 10)
