/** The message carriers pass the suite that all of them must pass. */
import { mkdtemp, rm } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createLineCarrier } from '../../src/carriers/stdio/index.ts'
import { createMessagePair } from '../../src/testing/fakes/message-pair.ts'
import { openSocketPair } from '../../src/testing/fakes/socket-pair.ts'
import { describeMessages } from '../../src/testing/suites/messages/messages.ts'

const runner = { describe, test, expect }
const peer = { header: () => undefined }

describeMessages(
  runner,
  'a pair in memory',
  async (open, options) => {
    const { send, read, leave, close } = createMessagePair(open, options)
    return {
      send,
      async read() {
        const message = await read()
        return typeof message === 'object' ? new TextDecoder().decode(message) : message
      },
      leave,
      close,
      cleanup: close,
    }
  },
  { acknowledges: true },
)

describeMessages(
  runner,
  'lines on real sockets',
  async (open, { maxBytes, log }) => {
    const folder = await mkdtemp(join(tmpdir(), 'callplane-lines-'))
    const [here, there] = await openSocketPair(join(folder, 'socket'))
    const leaving = new AbortController()
    const limits = { maxBytes }
    const options = { input: here, output: here, peer, origin: 'http://a.example', limits, log, signal: leaving.signal }
    const carrier = createLineCarrier(open, options)
    await carrier.listen()
    const served = carrier.ended.then(() => void here.end())
    const close = () => {
      leaving.abort()
      return served
    }
    const read = readLines(there)
    return {
      async send(message) {
        there.write(message)
        if (!there.write('\n')) await new Promise<void>((resolve) => there.once('drain', resolve))
      },
      read,
      async leave() {
        there.destroy()
      },
      close,
      async cleanup() {
        there.destroy()
        await close()
        here.destroy()
        await rm(folder, { recursive: true })
      },
    }
  },
  { acknowledges: false },
)

/** Takes from the socket only what a line needs, so that a test that does not read is a peer that does not read. */
function readLines(socket: Socket): () => Promise<string | undefined> {
  const chunks = socket.iterator({ destroyOnReturn: false })
  let pieces: Buffer[] = []
  let rest = Buffer.alloc(0)
  return async () => {
    for (;;) {
      const end = rest.indexOf('\n')
      if (end >= 0) {
        const line = Buffer.concat([...pieces, rest.subarray(0, end)]).toString()
        pieces = []
        rest = rest.subarray(end + 1)
        return line
      }
      pieces.push(rest)
      const next = await chunks.next()
      if (next.done) return undefined
      rest = next.value
    }
  }
}
