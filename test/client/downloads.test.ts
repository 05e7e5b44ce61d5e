/** Downloads and uploads through the client against a real server. */
import { createClient } from 'callplane/client'
import { expect, expectTypeOf, test } from 'vitest'
import { verifies } from '../requirements.ts'
import { startSite } from '../scenarios/server.ts'
import { idIn, json, startLyingServer } from './lying-server.ts'
import { describeFile, exportOrders } from './operations.ts'

const operations = [exportOrders, describeFile]

async function startClient() {
  const { url } = await startSite({ operations })
  return createClient<typeof operations>({ url })
}

test('a chunked result is a download: awaited, or read as bytes at once', async () => {
  verifies('opencall:062', 'opencall:123', 'opencall:124')
  const api = await startClient()

  const download = await api.orders.export({ rows: 3 })
  const text = await api.orders.export({ rows: 2 }).text()
  const blob = await api.orders.export({ rows: 1 }).blob()

  expectTypeOf(download.mimeType).toEqualTypeOf<string>()
  expect([download.mimeType, await download.text()]).toEqual(['text/csv', 'row 0\nrow 1\nrow 2\n'])
  expect(text).toBe('row 0\nrow 1\n')
  expect([blob.type, await blob.text()]).toEqual(['text/csv', 'row 0\n'])
})

test('files are sent with a call, and their progress is told', async () => {
  const api = await startClient()
  const sent: number[] = []

  const seen = await api.files.describe(
    {},
    {
      media: { file: new Blob(['x'.repeat(100_000)], { type: 'text/plain' }) },
      onUpload: ({ sentBytes }) => sent.push(sentBytes),
    },
  )

  expect(seen).toEqual({ bytes: 100_000, type: 'text/plain' })
  expect(sent.at(-1)).toBeGreaterThan(100_000)
})

test('bytes at an address are resumed where their connection was cut, if they are still the same', async () => {
  const whole = 'abcdefghij'.repeat(1_000)
  let version = '"1"'
  const asked: (string | undefined)[] = []
  const { url } = await startLyingServer((told, response) => {
    if (told.method === 'POST')
      return json(response, 202, { requestId: idIn(told), state: 'complete', location: { uri: '/file' } })
    const from = Number(/bytes=(\d+)-/.exec(told.headers.range ?? '')?.[1] ?? 0)
    const isSame = told.headers['if-range'] === version
    asked.push(told.headers.range)
    const rest = whole.slice(isSame ? from : 0)
    response.writeHead(isSame && from > 0 ? 206 : 200, {
      'content-type': 'text/plain',
      'content-length': String(rest.length),
      etag: version,
    })
    response.write(rest.slice(0, 4_000), () => (rest.length > 4_000 ? response.destroy() : response.end()))
  })
  const api = createClient<{ 'v1:files.get': { args: { id?: string }; result: unknown } }>({ url })

  expect(await api.files.get({}).text()).toBe(whole)
  expect(asked).toEqual([undefined, 'bytes=4000-', 'bytes=8000-'])

  const changed = await api.files.get({}).stream()
  const reader = changed.getReader()
  await reader.read()
  version = '"2"'
  const rest = async () => {
    while (!(await reader.read()).done);
  }
  await expect(rest()).rejects.toMatchObject({ code: 'RESULT_UNREADABLE' })
})
