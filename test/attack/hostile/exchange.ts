/** Sends bytes on a new connection and reads the response as far as it can be parsed. */
import { connect } from 'node:net'

export interface Answered {
  status: number
  type: string
  body: string
}

/** `silent`: no response, and the connection stayed open for too long. `unreachable`: the server no longer listens. */
export type Outcome =
  | { kind: 'answers'; answers: Answered[] }
  | { kind: 'closed' }
  | { kind: 'silent' }
  | { kind: 'unreachable' }

/** Maximum number of response bytes to read. */
const MAX_BYTES = 4 * 1024 * 1024

export interface Sending {
  host: string
  port: number
  bytes: Buffer
  /** True to half-close the connection after sending. The server treats that as a client that has left. */
  ends: boolean
  /** True for responses to HEAD, which have a Content-Length but no body. */
  bodiless: boolean
  limitMs: number
}

export function exchange({ host, port, bytes, ends, bodiless, limitMs }: Sending): Promise<Outcome> {
  return new Promise((resolve) => {
    const received: Buffer[] = []
    let size = 0
    const socket = connect(port, host)
    const timer = setTimeout(() => finish({ kind: 'silent' }), limitMs)
    const finish = (otherwise: Outcome) => {
      clearTimeout(timer)
      socket.destroy()
      const answers = parseAnswers(Buffer.concat(received).toString('latin1'), bodiless)
      resolve(answers.length > 0 ? { kind: 'answers', answers } : otherwise)
    }
    socket.on('connect', () => (ends ? socket.end(bytes) : socket.write(bytes)))
    socket.on('data', (piece) => {
      received.push(piece)
      size += piece.length
      // An event stream does not end, so only its head is checked.
      const isStream =
        size < 4_096 && /^content-type: text\/event-stream/im.test(Buffer.concat(received).toString('latin1'))
      if (isStream || size > MAX_BYTES) finish({ kind: 'closed' })
    })
    socket.on('error', (error: NodeJS.ErrnoException) =>
      finish({ kind: error.code === 'ECONNREFUSED' ? 'unreachable' : 'closed' }),
    )
    socket.on('close', () => finish({ kind: 'closed' }))
  })
}

const HEAD = /^HTTP\/1\.[01] (\d{3})[^\r\n]*\r\n((?:[^\r\n]+\r\n)*)\r\n/

function parseAnswers(text: string, bodiless: boolean): Answered[] {
  const answers: Answered[] = []
  for (let rest = text; rest !== ''; ) {
    const found = HEAD.exec(rest)
    if (!found) break
    const [head, status = '', lines = ''] = found
    const header = (name: string) => new RegExp(`^${name}: *(.*?)\\r$`, 'im').exec(lines)?.[1]
    const after = rest.slice(head.length)
    const read = bodiless
      ? { body: '', rest: after }
      : readBody(after, header('content-length'), header('transfer-encoding'))
    rest = read.rest
    // 100 Continue is not the final response.
    if (Number(status) >= 200)
      answers.push({ status: Number(status), type: header('content-type') ?? '', body: utf8(read.body) })
  }
  return answers
}

function readBody(
  text: string,
  length: string | undefined,
  coding: string | undefined,
): { body: string; rest: string } {
  if (coding?.toLowerCase() === 'chunked') return readChunks(text)
  if (length !== undefined) return { body: text.slice(0, Number(length)), rest: text.slice(Number(length)) }
  return text.startsWith('HTTP/1.') ? { body: '', rest: text } : { body: text, rest: '' }
}

function readChunks(text: string): { body: string; rest: string } {
  let body = ''
  let at = 0
  for (;;) {
    const end = text.indexOf('\r\n', at)
    const size = end < 0 ? Number.NaN : Number.parseInt(text.slice(at, end), 16)
    if (!(size > 0)) return { body, rest: end < 0 ? '' : text.slice(end + 4) }
    body += text.slice(end + 2, end + 2 + size)
    at = end + 2 + size + 2
  }
}

function utf8(latin: string): string {
  return Buffer.from(latin, 'latin1').toString('utf8')
}
