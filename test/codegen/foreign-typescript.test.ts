/** A generator of TypeScript clients that is not ours makes a client of our document, and the client calls a real server. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createClient } from '@hey-api/openapi-ts'
import ts from 'typescript'
import { expect, test, vi } from 'vitest'
import { type Site, startSite, temporaryFolder } from '../scenarios/server.ts'
import { operations } from './sample-operations.ts'

// The generator and the compiler take seconds.
vi.setConfig({ testTimeout: 60_000 })

/** What a user of the generated client would write. */
const PROGRAM = `
import { client } from './client/client.gen.js'
import { call, filesDescribeV1, getCall, jobsBuildV2, treesPlantV1, watchCall, deviceWatchV1, readStream } from './client/sdk.gen.js'

export async function use(baseUrl: string) {
  client.setConfig({ baseUrl })
  const plant = async (value: number) => {
    const { data } = await treesPlantV1({ body: { args: { value, children: [{ value: 2 }] } } })
    if (data?.state === 'complete' && 'result' in data) return data.result.sum
    return data?.state === 'error' ? data.error.code : 'other'
  }
  const wrong = await treesPlantV1({ body: { args: { value: 'text' as never } } })
  const started = await jobsBuildV2({ body: { args: { name: 'house' } }, headers: { 'Idempotency-Key': 'k1' } })
  const requestId = started.data?.requestId ?? ''
  const ended = await getCall({ path: { requestId }, headers: { Prefer: 'wait=20' } })
  const states: string[] = []
  const { stream } = await watchCall({ path: { requestId }, sseMaxRetryAttempts: 1 })
  for await (const event of stream) states.push(event.state)
  const envelope = await call({ body: { op: 'v1:trees.plant', args: { value: 5 } } })
  const watching = await deviceWatchV1({ body: {} })
  const place = watching.data?.state === 'streaming' ? watching.data.stream : undefined
  const frames: unknown[] = []
  const reading = await readStream({ path: { streamId: place?.location.split('/').pop() ?? '' }, query: { ticket: place?.auth?.credential ?? '' }, headers: { Accept: 'text/event-stream' }, sseMaxRetryAttempts: 1 })
  for await (const frame of reading.stream) frames.push(frame)
  const file = new Blob(['hello'], { type: 'text/plain' })
  const described = await filesDescribeV1({
    body: { media: [{ name: 'file', mimeType: 'text/plain', part: 'file' }] } as never,
    bodySerializer: () => {
      const form = new FormData()
      form.set('envelope', JSON.stringify({ media: [{ name: 'file', mimeType: 'text/plain', part: 'file' }] }))
      form.set('file', file)
      return form
    },
    headers: { 'Content-Type': null },
  })
  return {
    sum: await plant(1),
    failure: await plant(-9),
    refused: [wrong.response?.status, wrong.error && 'error' in wrong.error && wrong.error.error.code],
    started: started.response?.status,
    ended: ended.data && 'result' in ended.data && ended.data.result,
    states,
    envelope: envelope.data && 'result' in envelope.data && envelope.data.result,
    frames,
    described: described.data && 'result' in described.data && described.data.result,
  }
}
`

test('the client compiles, and calls, waits, watches, reads frames and uploads', async () => {
  const site = await startSite({ operations })
  const folder = await generated(site)

  const problems = compile(folder)
  const { use } = (await import(/* @vite-ignore */ pathToFileURL(join(folder, 'program.js')).href)) as {
    use(url: string): Promise<unknown>
  }

  expect(problems).toEqual([])
  expect(await use(site.url)).toEqual({
    sum: 3,
    failure: 'NEGATIVE',
    refused: [400, 'VALIDATION_ERROR'],
    started: 202,
    ended: 'built house',
    states: ['complete'],
    envelope: { sum: 5 },
    frames: [{ n: 1 }, { n: 2 }, { state: 'complete' }],
    described: 5,
  })
})

async function generated(site: Site): Promise<string> {
  const folder = temporaryFolder()
  await mkdir(join(folder, 'client'), { recursive: true })
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await writeFile(join(folder, 'tsconfig.json'), '{ "compilerOptions": { "module": "nodenext" } }')
  await writeFile(join(folder, 'program.ts'), PROGRAM)
  const input = (await (await site.request('/openapi.json')).json()) as Record<string, unknown>
  await createClient({
    input,
    output: { path: join(folder, 'client'), tsConfigPath: join(folder, 'tsconfig.json') },
    plugins: ['@hey-api/typescript', '@hey-api/sdk', '@hey-api/client-fetch'],
    logs: { level: 'silent', file: false },
  })
  return folder
}

/** Emits JavaScript, and returns what the compiler says. */
function compile(folder: string): string[] {
  const program = ts.createProgram([join(folder, 'program.ts')], {
    strict: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts', 'lib.dom.asynciterable.d.ts'],
    types: [],
    skipLibCheck: true,
  })
  program.emit()
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ file, start = 0, messageText }) =>
      [
        file?.fileName.slice(folder.length),
        file?.text.slice(start, start + 60),
        ts.flattenDiagnosticMessageText(messageText, '\n'),
      ].join(' '),
    )
}
