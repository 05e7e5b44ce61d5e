/** A full disk: accepted calls stay, new calls are refused, and calls continue when there is room again. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { verifies } from '../requirements.ts'
import { type Envelope, expectRefusal, startServer, storedFiles, temporaryFolder } from './server.ts'

test('a full database refuses with 503, keeps what it acknowledged and takes calls again once there is room', async () => {
  verifies('opencall:118')
  const data = await temporaryFolder()
  const clock = createManualClock()
  const store = createSqliteStore({ file: join(data, 'callplane.db'), clock, maxBytes: 1_000_000 })
  const server = await startServer({ data, clock, store })
  const call = (op: string, requestId: string, text: string, prefer = 'wait=5') =>
    server.call({ op, args: { text }, ctx: { requestId } }, { Prefer: prefer })
  const poll = async (requestId: string) => (await fetch(`${server.url}/ops/${requestId}`)).json() as Promise<Envelope>

  const kept = ['kept-1', 'kept-2', 'kept-3']
  for (const id of kept) expect((await call('v1:Jobs.Run', id, `text of ${id}`)).status).toBe(200)
  // Not waited for: the end of the last one may find no room either, and comes when there is some.
  const fill = (count: number) => call('v1:Jobs.Fill', `fill-${count}`, 'x'.repeat(20_000), 'wait=0')
  let filled = 0
  let response = await fill(filled)
  while (response.status === 202) response = await fill(++filled)

  const { requestId, message } = await expectRefusal(response, 503, 'PANIC_STORAGE_FULL')
  expect(requestId).toBe(`fill-${filled}`)
  expect(message).toMatch(/nothing was recorded. Try again later/)
  expect(filled).toBeGreaterThan(10)
  await expectRefusal(await fetch(`${server.url}/ops/fill-${filled}`), 404, 'NOT_FOUND')
  for (const id of kept) expect(await poll(id)).toMatchObject({ state: 'complete', result: `text of ${id}` })
  const unrecorded = await server.call({ op: 'v1:Calculator.Add', args: { a: 1, b: 2 } })
  expect(await unrecorded.json()).toMatchObject({ result: 3 })

  // The fillers expire, and housekeeping gives their room back.
  clock.advance(70_000)
  await expect.poll(async () => (await call('v1:Jobs.Run', 'after', 'again')).status).toBe(200)
  expect(await poll('after')).toMatchObject({ state: 'complete', result: 'again' })
  for (const id of kept) expect(await poll(id)).toMatchObject({ state: 'complete', result: `text of ${id}` })
})

const CLI = join(import.meta.dirname, '../../src/cli/main.ts')
const OPERATIONS = join(import.meta.dirname, 'operations.ts')
/** In blocks of 1,024 bytes, as bash counts: no file of the server grows past 2 MB. */
const MAX_BLOCKS = 2_000

test.skipIf(process.platform !== 'linux')(
  'files are refused with 503 on a full disk and leave no bytes; with free space they are accepted (prlimit is Linux)',
  { timeout: 30_000 },
  async () => {
    verifies('opencall:118')
    const data = await temporaryFolder()
    const limited = `ulimit -S -f ${MAX_BLOCKS} && exec "$0" "$@"`
    const serve = ['--conditions=callplane-source', CLI, 'serve', OPERATIONS, '--port', '0', '--data', data]
    const child = spawn('bash', ['-c', limited, process.execPath, ...serve], { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    const [line] = await once(createInterface(child.stdout), 'line')
    const { url } = JSON.parse(line)
    const make = (bytes: number, requestId: string) =>
      fetch(`${url}/call`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ op: 'v1:Files.Make', args: { bytes }, ctx: { requestId } }),
      })
    const upload = (bytes: number) => {
      const form = new FormData()
      form.append(
        'envelope',
        JSON.stringify({ op: 'v1:Files.Keep', media: [{ name: 'file', mimeType: 'text/plain', part: 'file' }] }),
      )
      form.append('file', new Blob([new Uint8Array(bytes)], { type: 'text/plain' }))
      return fetch(`${url}/call`, { method: 'POST', body: form })
    }

    expect((await make(1_000, 'small')).status).toBe(202)
    const before = storedFiles(data)
    const refusedUpload = await upload(3_000_000)
    const refusedResult = await make(3_000_000, 'large')

    expect((await expectRefusal(refusedUpload, 503, 'PANIC_STORAGE_FULL')).message).toMatch(/try again when space/)
    expect((await expectRefusal(refusedResult, 503, 'PANIC_STORAGE_FULL')).message).toMatch(/try again when space/)
    expect(storedFiles(data)).toEqual(before)
    expect((await upload(1_000)).status).toBe(200)
    expect(await (await fetch(`${url}/ops/small`)).json()).toMatchObject({ state: 'complete' })

    execFileSync('prlimit', ['--pid', String(child.pid), '--fsize=unlimited'])
    expect((await upload(3_000_000)).status).toBe(200)
    const made = (await (await make(3_000_000, 'large-again')).json()) as Envelope
    const bytes = await (await fetch(made.location?.uri ?? '')).arrayBuffer()
    expect(bytes.byteLength).toBe(3_000_000)
  },
)
