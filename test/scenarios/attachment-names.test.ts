/** The file name of an attachment, in every place that shows it. */
import { operation } from 'callplane'
import { runOperation } from 'callplane/testing'
import { expect, test } from 'vitest'
import { ask } from './mcp.ts'
import { answered, type Site, startSite } from './server.ts'

const SLOT = { name: 'file', acceptedTypes: ['text/plain'], maxBytes: 100 }

const named = operation('v1:files.name', {
  media: [SLOT],
  run: (_args, ctx) => ({ filename: ctx.media.file?.filename ?? null }),
})

/** Written by hand: `FormData` would not send all of these as they are. */
async function upload(site: Site, disposition: string, ctx: object = {}) {
  const media = [{ name: 'file', mimeType: 'text/plain', part: 'file' }]
  const part = (head: string, body: string) => `--b\r\nContent-Disposition: form-data; ${head}\r\n\r\n${body}\r\n`
  const envelope = JSON.stringify({ op: 'v1:files.name', args: {}, media, ctx })
  const response = await site.request('/call', {
    method: 'POST',
    headers: { 'Content-Type': 'multipart/form-data; boundary=b' },
    body: `${part('name="envelope"', envelope)}${part(`name="file"${disposition}`, 'hello')}--b--\r\n`,
  })
  return (await answered(response)).body
}

test.each([
  ['as it is', '; filename="Report 2026.txt"', 'Report 2026.txt'],
  ['in UTF-8', `; filename*=UTF-8''na%C3%AFve.txt`, 'naïve.txt'],
  ['without its folder', '; filename="/home/ann/notes.txt"', 'notes.txt'],
  ['without its folder on Windows', `; filename*=UTF-8''C%3A%5CUsers%5Cann%5Cnotes.txt`, 'notes.txt'],
  ['without a way up', '; filename="../../etc/passwd"', 'passwd'],
  ['without control characters', `; filename*=UTF-8''a%00b%0D%0Ac%1B%5Bm.txt`, 'abc[m.txt'],
  ['without turning its reader around', `; filename*=UTF-8''a%E2%80%AEtxt.exe`, 'atxt.exe'],
  ['no longer than a file system takes', `; filename="${'x'.repeat(300)}.txt"`, 'x'.repeat(255)],
  ['no name if it is only a folder', '; filename=".."', null],
  ['no name if it is empty', '; filename=""', null],
  ['no name if there is none', '', null],
])('the name of an uploaded file: %s', async (_how, disposition, filename) => {
  const site = await startSite({ operations: [named] })

  expect(await upload(site, disposition)).toMatchObject({ state: 'complete', result: { filename } })
})

test('a model names the file it attaches', async () => {
  const site = await startSite({ operations: [named] })
  const file = { mimeType: 'text/plain', data: btoa('hello'), filename: '../notes.txt' }

  const { json } = await ask(site, 'tools/call', { name: 'files_name', arguments: { attachments: { file } } })

  expect(json.result.structuredContent).toEqual({ filename: 'notes.txt' })
})

test('the name is part of what was asked for: the same key with another name is another call', async () => {
  const write = operation('v1:files.name', { media: [SLOT], sideEffecting: true, run: () => 'done' })
  const site = await startSite({ operations: [write] })
  const ctx = { idempotencyKey: 'k1' }

  const first = await upload(site, '; filename="a.txt"', ctx)
  const again = await upload(site, '; filename="a.txt"', ctx)
  const other = await upload(site, '; filename="b.txt"', ctx)

  expect([first.state, again.state, other.state]).toEqual(['complete', 'complete', 'error'])
})

test('a recorded call finds the name at its attempt, and a unit test gives it one', async () => {
  const kept = operation('v1:files.name', {
    model: 'async',
    media: [SLOT],
    run: (_args, ctx) => ctx.media.file?.filename,
  })
  const site = await startSite({ operations: [kept] })
  const { requestId } = await upload(site, '; filename="a.txt"')
  const media = { file: { content: 'hello', mimeType: 'text/plain', filename: '/tmp/a.txt' } }

  expect((await site.ended(requestId)).body.result).toBe('a.txt')
  expect((await runOperation(named, {}, { media })).result).toEqual({ filename: 'a.txt' })
})
