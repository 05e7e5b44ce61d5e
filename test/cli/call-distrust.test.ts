import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from './processes.ts'
import { runCommand } from './streams.ts'

const registry = { callVersion: '2026-02-10', operations: [{ op: 'v1:X', chunked: true }, { op: 'v1:Y' }] }
const sha256 = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`

function chunk(data: string, offset: number, previous: string | null, cursor: string | null) {
  const about = { offset, length: data.length, checksum: sha256(data), checksumPrevious: previous }
  return { requestId: 'r', state: cursor === null ? 'complete' : 'pending', mimeType: 'text/plain', cursor, chunk: about, encoding: 'utf8', data } // biome-ignore format: one record
}

test('a chunked result is refused when a byte, the order or the length is not what was announced', async () => {
  const [first, second] = [chunk('one', 0, null, 'c1'), chunk('two', 3, sha256('one'), null)]
  const honest = await exportOf(first, second)
  const changed = await exportOf(first, { ...second, data: 'tow' })
  const unchained = await exportOf(first, { ...second, chunk: { ...second.chunk, checksumPrevious: sha256('other') } })
  const gap = await exportOf(first, { ...second, chunk: { ...second.chunk, offset: 4 } })
  const short = await exportOf(first, { ...second, total: 7 })

  expect(honest).toMatchObject({ code: 0, files: ['out'] })
  for (const { code, stderr, files } of [changed, unchained, gap, short]) {
    expect(stderr).toMatch(/callplane: The result arrived damaged: .*read it again\.\n$/)
    expect({ code, files }).toEqual({ code: 1, files: [] })
  }
})

test('a server without events is followed by polls that keep to its pace', async () => {
  const polls: { at: number; prefer: unknown }[] = []
  const url = await impostor(({ method, url: path, headers }) => {
    if (path?.endsWith('/events'))
      return [404, { requestId: 'r', state: 'error', error: { code: 'NOT_FOUND', message: '' } }]
    if (method === 'POST') return [202, { requestId: 'r', state: 'accepted', location: { uri: '/ops/r' } }]
    polls.push({ at: performance.now(), prefer: headers.prefer })
    if (polls.length === 1) return [202, { requestId: 'r', state: 'pending', retryAfterMs: 120 }]
    if (polls.length === 2)
      return [429, { requestId: 'r', state: 'error', retryAfterMs: 120, error: { code: 'RATE_LIMITED', message: '' } }]
    return [200, { requestId: 'r', state: 'complete', result: 7, someday: 'more' }]
  })

  const { code, stdout } = await runCommand(['call', 'v1:Y', '--follow', '--url', url])

  expect({ code, stdout }).toEqual({ code: 0, stdout: '7\n' })
  expect(polls.map(({ prefer }) => prefer)).toEqual(['wait=25', 'wait=25', 'wait=25'])
  const gaps = polls.slice(1).map(({ at }, index) => at - (polls[index]?.at ?? 0))
  expect(Math.min(...gaps)).toBeGreaterThan(110)
})

test('the token goes to the server that was named and to no other', async () => {
  const seen: (string | undefined)[] = []
  const elsewhere = await impostor(({ headers }) => {
    seen.push(headers.authorization)
    return [200, { requestId: 'r', state: 'complete', result: 1 }]
  })
  const url = await impostor(({ headers }) => {
    seen.push(headers.authorization)
    return [202, { requestId: 'r', state: 'accepted', location: { uri: `${elsewhere}/ops/r` } }]
  })

  await runCommand(['call', 'v1:Y', '--follow', '--url', url], { env: { CALLPLANE_TOKEN: 'secret' } })

  expect(new Set(seen)).toEqual(new Set(['Bearer secret', undefined]))
  expect(seen.filter((header) => header !== undefined)).toHaveLength(1)
})

test("a server's words cannot steer the terminal", async () => {
  const error = { code: 'BAD', message: 'clear\u001b[2J the \u009b31m screen\rcallplane: all is well' }
  const url = await impostor(() => [400, { requestId: 'r', state: 'error', error }])

  const { stderr } = await runCommand(['call', 'v1:Y', '--url', url])

  expect(stderr).toBe('callplane: BAD: clear?[2J the ?31m screen?callplane: all is well\n')
})

test('the message says that the server does not speak OpenCALL', async () => {
  const url = await impostor(() => [200, 'hello'])

  const { code, stderr } = await runCommand(['call', 'v1:Y', '--url', url])

  expect(stderr).toMatch(/responded with 200 and application\/json, not an OpenCALL envelope/)
  expect(code).toBe(1)
})

/** `callplane call -o out` from a server that sends these chunks. */
async function exportOf(...chunks: object[]) {
  const url = await impostor(({ method, url: path = '' }) => {
    if (method === 'POST') return [202, { requestId: 'r', state: 'accepted', location: { uri: '/ops/r' } }]
    return [200, chunks[path.includes('cursor=c1') ? 1 : 0] ?? {}]
  })
  const folder = await temporaryFolder()
  const finished = await runCommand(['call', 'v1:X', '--follow', '--url', url, '-o', join(folder, 'out')])
  return { ...finished, files: await readdir(folder) }
}

/** A server that answers what the test says; the registry is always there. */
async function impostor(answer: (request: IncomingMessage) => [status: number, body: unknown]): Promise<string> {
  const server = createServer((request, response) => {
    const [status, body] = request.url === '/.well-known/ops' ? [200, registry] : answer(request)
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
  })
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
