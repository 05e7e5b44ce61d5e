/** The links that log a person in to the console: printed by `serve` for a terminal, and by `login-link`. */
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { createToken, operation } from 'callplane'
import { expect, test, vi } from 'vitest'
import { run } from '../../src/cli/run.ts'
import { startSite } from '../scenarios/server.ts'
import { QUICKSTART, temporaryFolder } from './processes.ts'
import { runCommand } from './streams.ts'

vi.setConfig({ testTimeout: 30_000 })

const ping = operation('v1:it.pings', { run: () => 'pong' })

async function use(link: string, readOnly?: true): Promise<{ status: number; mode?: string }> {
  const [, base = '', code = ''] = /^(.+)\/explorer\/#\/login\?code=(\S+)$/.exec(link) ?? []
  const response = await fetch(`${base}/console/session`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ code, ...(readOnly && { readOnly }) }),
  })
  const { mode } = (await response.json()) as { mode?: string }
  return { status: response.status, ...(mode !== undefined && { mode }) }
}

/** Runs `serve` until it has printed this, and returns all that it has printed. `check` runs while it serves. */
async function serveUntil(wanted: RegExp, isTTY: boolean, check: (printed: string) => Promise<void>, env = {}) {
  const folder = await temporaryFolder()
  const stdout = Object.assign(new PassThrough(), { isTTY })
  const ending = new AbortController()
  const args = ['serve', QUICKSTART, '--port', '0', '--data', join(folder, 'data'), '--log-level', 'silent']
  const stderr = new PassThrough().resume()
  const served = run({ args, stdin: Readable.from([]), stdout, stderr, env, signal: ending.signal })
  let printed = ''
  for await (const piece of stdout) {
    printed += String(piece)
    if (wanted.test(printed)) break
  }
  await check(printed)
  ending.abort()
  expect(await served).toBe(0)
}

test('serve prints a link for the person at the terminal, which works once', async () => {
  await serveUntil(/A first call/, true, async (printed) => {
    const [, link = ''] = /^ {2}console +(\S+)$/m.exec(printed) ?? []
    expect(await use(link)).toEqual({ status: 201, mode: 'read-write' })
    expect((await use(link)).status).toBe(401)
  })
})

test('serve writes no code into a log, and none where callers have credentials', async () => {
  await serveUntil(/"listening"/, false, async (printed) => expect(printed).not.toMatch(/code=|cpc_/))
  const env = { CALLPLANE_TOKEN: createToken().token }
  await serveUntil(
    /A first call/,
    true,
    async (printed) => {
      expect(printed).toMatch(/^ {2}console +http:\S+\/console\/$/m)
      expect(printed).not.toMatch(/code=|cpc_/)
    },
    env,
  )
})

test.each([
  ['without authentication', {}],
  [
    'with authentication',
    { auth: { tokens: [{ hash: createToken().hash, kind: 'bearer' as const, subject: 'a', scopes: [] }] } },
  ],
])('login-link prints a new one, %s', async (_, options) => {
  const { url, data } = await startSite({ operations: [ping], ...options })
  const ask = (...more: string[]) => runCommand(['login-link', '--url', url, '--data', data, ...more])

  const [plain, readOnly, json] = [await ask(), await ask('--read-only'), await ask('--json')]

  expect([plain.code, plain.stderr]).toEqual([0, ''])
  expect(await use(plain.stdout.trim())).toEqual({ status: 201, mode: 'read-write' })
  expect(await use(readOnly.stdout.trim())).toEqual({ status: 201, mode: 'read-only' })
  expect(await use(JSON.parse(json.stdout).url)).toMatchObject({ status: 201 })
})

test('login-link explains what is missing: a credential, or the console', async () => {
  const [site, without] = [
    await startSite({ operations: [ping] }),
    await startSite({ operations: [ping], console: false }),
  ]

  const stranger = await runCommand(['login-link', '--url', site.url, '--data', join(site.data, 'none')])
  const off = await runCommand(['login-link', '--url', without.url, '--data', without.data])

  expect([stranger.code, stranger.stderr]).toEqual([2, expect.stringContaining('--data')])
  expect([off.code, off.stderr]).toEqual([3, expect.stringContaining('no console')])
})
