/** What every generated client does, on a real server, over connections that break, and with servers that lie. */
import { createHash } from 'node:crypto'
import { operation } from 'callplane'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { verifies } from '../../requirements.ts'
import { startSite } from '../../scenarios/server.ts'
import { startCuttingProxy } from './cutting-proxy.ts'
import { startScript } from './scripted-server.ts'
import type { Teller } from './tellers.ts'

const FILE = 'line of the file\n'.repeat(12_000)

function operationsOf(notes: string[], watched: Promise<void> = Promise.resolve()) {
  return [
    operation('v1:sums.add', {
      args: z.object({ a: z.number(), b: z.number() }),
      result: z.number(),
      run: ({ a, b }) => a + b,
    }),
    operation('v1:notes.add', {
      args: z.object({ text: z.string() }),
      result: z.object({ notes: z.int() }),
      sideEffecting: true,
      run({ text }) {
        notes.push(text)
        return { notes: notes.length }
      },
    }),
    operation('v1:doors.open', {
      args: z.object({ door: z.string() }),
      result: z.null(),
      run: (_args, ctx) =>
        ctx.fail('DOOR_LOCKED', 'The door is locked. Unlock it first.', { retryable: true, retryAfterMs: 1500 }),
    }),
    operation('v1:reports.make', {
      result: z.object({ rows: z.int() }),
      model: 'async',
      ttlSeconds: 600,
      async run(_args, ctx) {
        ctx.progress(0.5, 'half way')
        await watched
        return { rows: 3 }
      },
    }),
    operation('v1:reports.forever', {
      result: z.null(),
      model: 'async',
      ttlSeconds: 600,
      run: (_args, ctx) =>
        new Promise<null>((_resolve, reject) => {
          ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason), { once: true })
        }),
    }),
    operation('v1:files.export', {
      chunked: { mimeType: 'text/plain' },
      ttlSeconds: 600,
      async *run() {
        yield FILE
      },
    }),
    operation('v1:files.draw', {
      ttlSeconds: 600,
      run: (_args, ctx) => ctx.object(FILE, { mimeType: 'image/svg+xml', filename: 'drawing.svg' }),
    }),
    operation('v1:files.describe', {
      media: [{ name: 'file', required: true, acceptedTypes: ['text/plain'], maxBytes: 1_000_000 }],
      result: z.object({ bytes: z.int(), filename: z.string().optional(), sha256: z.string() }),
      async run(_args, ctx) {
        const hash = createHash('sha256')
        let bytes = 0
        for await (const piece of ctx.media.file?.stream() ?? []) {
          hash.update(piece)
          bytes += piece.length
        }
        return { bytes, filename: ctx.media.file?.filename, sha256: hash.digest('hex') }
      },
    }),
    ...(['v1:numbers.count', 'v1:numbers.sealed'] as const).map((name) =>
      operation(name, {
        args: z.object({ to: z.int() }),
        frame: z.object({ n: z.int() }),
        ttlSeconds: 600,
        stream: { integrity: name === 'v1:numbers.sealed' ? 'crc32' : false },
        async *run({ to }) {
          for (let n = 1; n <= to; n++) yield { n }
        },
      }),
    ),
  ]
}

const numbersTo = (last: number) => Array.from({ length: last }, (_, index) => ({ n: index + 1 }))
const base64 = (text: string) => Buffer.from(text).toString('base64')

export function describeClient(name: string, teller: () => Teller): void {
  describe(`${name}: a real server`, () => {
    test('calls, files, streams, chunks and faults', async () => {
      verifies('opencall:062', 'opencall:100', 'opencall:123', 'opencall:124', 'opencall:149')
      const site = await startSite({ operations: operationsOf([]), sizes: { chunkBytes: 4096 } })

      const told = await teller().tell(site.url, [
        { do: 'call', op: 'v1:sums.add', args: { a: 1, b: 2.5 } },
        { do: 'call', op: 'v1:doors.open', args: { door: 'front' } },
        { do: 'call', op: 'v1:sums.add', args: { a: 'x' } },
        {
          do: 'call',
          op: 'v1:files.describe',
          media: { file: { text: FILE, type: 'text/plain', name: 'a "b" ü.txt' } },
        },
        { do: 'start', op: 'v1:files.export', next: 'content' },
        { do: 'start', op: 'v1:files.draw', next: 'content' },
        { do: 'call', op: 'v1:files.draw' },
        { do: 'stream', op: 'v1:numbers.count', args: { to: 100 } },
        { do: 'stream', op: 'v1:numbers.count', args: { to: 100 }, take: 2 },
        { do: 'registry' },
        { do: 'resume', id: 'never-existed', next: 'result' },
      ])

      expect(told[0]).toEqual({ result: 3.5 })
      expect(told[1]).toEqual({
        fault: 'DOOR_LOCKED',
        status: 200,
        retryable: true,
        retryAfterMs: 1500,
        remedy: null,
        hasId: true,
      })
      expect(told[2]).toMatchObject({ fault: 'VALIDATION_ERROR', status: 400, retryable: false })
      const sha256 = createHash('sha256').update(FILE).digest('hex')
      expect(told[3]).toEqual({ result: { bytes: FILE.length, filename: 'a "b" ü.txt', sha256 } })
      expect(told[4]).toMatchObject({ bytes: base64(FILE), mimeType: 'text/plain' })
      expect(told[5]).toMatchObject({ bytes: base64(FILE), mimeType: 'image/svg+xml' })
      expect(told[6]).toMatchObject({ fault: 'RESULT_IS_A_FILE' })
      expect(told[7]).toEqual({ frames: numbersTo(100) })
      expect(told[8]).toEqual({ frames: numbersTo(2) })
      const [first, second] = told[9]?.operations ?? []
      expect(first).toEqual(expect.any(Number))
      expect(second).toBe(first)
      expect(told[10]).toMatchObject({ fault: 'NOT_FOUND', status: 404 })
    })

    test('a file that the server refuses on the way', async () => {
      const site = await startSite({ operations: operationsOf([]) })
      const file = { text: 'x'.repeat(20_000_000), type: 'text/plain', name: 'large.txt' }

      const told = await teller().tell(site.url, [{ do: 'call', op: 'v1:files.describe', media: { file } }], {
        retries: 0,
      })

      expect(told).toEqual([expect.objectContaining({ fault: 'MEDIA_TOO_LARGE', status: 400 })])
    })

    test('a run is watched, canceled and resumed by its id', async () => {
      const watched = Promise.withResolvers<void>()
      const site = await startSite({ operations: operationsOf([], watched.promise) })
      const proxy = await startCuttingProxy(site.url, (request) => {
        if (request === 'GET /ops/…/events') watched.resolve()
        return undefined
      })

      const told = await teller().tell(proxy.url, [
        { do: 'start', op: 'v1:reports.make', next: 'progress result' },
        { do: 'start', op: 'v1:reports.forever', next: 'cancel result' },
        { do: 'start', op: 'v1:reports.forever', requestId: 'kept', next: '' },
        { do: 'call', op: 'v1:reports.forever', timeoutMs: 300 },
      ])
      const later = await teller().tell(proxy.url, [
        { do: 'resume', id: told[0]?.id ?? 'none', next: 'result' },
        { do: 'resume', id: 'kept', next: 'cancel' },
      ])

      expect(told[0]).toMatchObject({ result: { rows: 3 } })
      expect(told[0]?.progress?.at(-1)).toMatchObject({ state: 'complete' })
      expect(told[1]).toMatchObject({ fault: 'CANCELED' })
      expect(told[3]).toMatchObject({ fault: 'DEADLINE_EXCEEDED', hasId: true })
      expect(later[0]).toMatchObject({ id: told[0]?.id, result: { rows: 3 } })
      expect(later[1]).toEqual({ id: 'kept', cancel: 'error' })
    })
  })

  describe(`${name}: connections that break`, () => {
    test('a side effect whose response was lost happens once', async () => {
      const notes: string[] = []
      const site = await startSite({ operations: operationsOf(notes) })
      const proxy = await startCuttingProxy(site.url, (_request, count) => (count < 3 ? 5 : undefined))

      const told = await teller().tell(proxy.url, [{ do: 'call', op: 'v1:notes.add', args: { text: 'once' } }])

      expect(told).toEqual([{ result: { notes: 1 } }])
      expect(notes).toEqual(['once'])
      expect(proxy.requests).toHaveLength(3)
    })

    test('chunks and files go on where they broke', async () => {
      const site = await startSite({ operations: operationsOf([]), sizes: { chunkBytes: 64 * 1024 } })
      const cut = (request: string, count: number) => {
        if (request === 'GET /ops/…/chunks' && count === 3) return 1000
        return request.startsWith('GET /objects') && count < 3 ? 50_000 : undefined
      }
      const proxy = await startCuttingProxy(site.url, cut)

      const told = await teller().tell(proxy.url, [
        { do: 'start', op: 'v1:files.export', next: 'content' },
        { do: 'start', op: 'v1:files.draw', next: 'content' },
      ])

      expect(told[0]).toMatchObject({ bytes: base64(FILE) })
      expect(told[1]).toMatchObject({ bytes: base64(FILE) })
      expect(proxy.requests.filter((request) => request.startsWith('GET /objects'))).toHaveLength(3)
    })

    test('a numbered stream goes on where it broke, and another is subscribed to again', async () => {
      verifies('opencall:206')
      const site = await startSite({ operations: operationsOf([]) })
      const cut = (request: string, count: number) =>
        request.startsWith('GET /streams') && count % 2 === 1 ? 150 : undefined
      const proxy = await startCuttingProxy(site.url, cut)

      const told = await teller().tell(proxy.url, [
        { do: 'stream', op: 'v1:numbers.sealed', args: { to: 40 } },
        { do: 'stream', op: 'v1:numbers.count', args: { to: 40 } },
        { do: 'stream', op: 'v1:numbers.count', args: { to: 40 }, reconnect: false },
      ])

      expect(told[0]).toEqual({ frames: numbersTo(40) })
      expect(proxy.requests.filter((request) => request.includes('after='))).toHaveLength(1)
      expect(told[1]?.frames?.slice(-40)).toEqual(numbersTo(40))
      expect(told[1]?.frames?.length).toBeGreaterThan(40)
      expect(told[2]).toMatchObject({ fault: 'STREAM_BROKEN', retryable: true })
    })

    test('a server that is not there, and one that never responds', async () => {
      const silent = await startScript(() => 'silence')
      const gone = await startScript(() => 'hang up')

      const late = await teller().tell(silent.url, [{ do: 'call', op: 'v1:x', timeoutMs: 300 }])
      const lost = await teller().tell(gone.url, [{ do: 'call', op: 'v1:x' }], { retries: 1 })

      expect(late).toEqual([expect.objectContaining({ fault: 'DEADLINE_EXCEEDED' })])
      expect(lost).toEqual([expect.objectContaining({ fault: 'UNREACHABLE', retryable: true })])
      expect(gone.received).toHaveLength(2)
      expect(gone.received[1]?.body).toEqual(gone.received[0]?.body)
    })
  })
}
