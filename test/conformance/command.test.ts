/** `callplane conformance` as a program: the findings that fail a run, the files it writes, and the input it refuses. */

import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { runCommand } from '../cli/streams.ts'
import { type BrokenProxy, type Hooks, startBrokenProxy } from './broken-proxy.ts'
import { serveQuickstart } from './quickstart.ts'
import { startReferenceServer, TOKENS } from './reference-server.ts'

let folder: string
let reference: Awaited<ReturnType<typeof startReferenceServer>>
let proxy: BrokenProxy

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'callplane-conformance-'))
  reference = await startReferenceServer()
  proxy = await startBrokenProxy(reference.url)
})
afterAll(async () => {
  await proxy.close()
  await reference.close()
  await rm(folder, { recursive: true })
})

const judge = (hooks: Hooks, ...options: string[]) => {
  proxy.break(hooks)
  return runCommand(['conformance', proxy.url, '--token', TOKENS.ann, ...options])
}

const withoutEtag: Hooks = {
  answer({ headers }) {
    delete headers.etag
  },
}
const withHash: Hooks = {
  answer(served, { path }) {
    if (path !== '/.well-known/ops' || served.status !== 200) return
    served.body = Buffer.from(JSON.stringify({ ...JSON.parse(served.body.toString()), registryHash: 'abc' }))
  },
}

/** A server that breaks a SHOULD, judged leniently and strictly, with the JUnit file of each run. */
let etag: { run: Awaited<ReturnType<typeof judge>>; junit: string }[]
beforeAll(async () => {
  etag = []
  for (const options of [[], ['--strict']]) {
    const file = join(folder, `junit-${etag.length}.xml`)
    const run = await judge(withoutEtag, '--junit', file, ...options)
    etag.push({ run, junit: await readFile(file, 'utf8') })
  }
}, 60_000)

describe('the run fails', { timeout: 60_000 }, () => {
  test('a SHOULD is reported and does not, unless the run is strict', () => {
    const [lenient, strict] = etag.map(({ run }) => run) as [(typeof etag)[0]['run'], (typeof etag)[0]['run']]

    expect(lenient.stdout).toMatch(/^SHOULD There is no ETag\.$/m)
    expect(lenient.stdout).toMatch(/found: \d SHOULD\n$/)
    expect([lenient.code, strict.code]).toEqual([0, 1])
  })

  test('a matter of taste never does', async () => {
    const { code, stdout } = await judge(withHash, '--strict')

    expect(stdout).toMatch(/^TASTE {2}The registry holds hashes at \/registryHash\.$/m)
    expect(code).toBe(0)
  })

  test('one flaw that many checks come across is one finding', async () => {
    const { stdout } = await judge({
      answer(served) {
        served.body = Buffer.from(served.body.toString().replaceAll('"sessionId":', '"session":'))
      },
    })

    expect(stdout).toMatch(/^ {9}opencall:056 \[IMPLIED\] Response `sessionId` equals/m)
    expect(stdout).toMatch(/^ {7}Also seen by .+, .+\.$/m)
  })
})

test('no token is shown, not even one that was sent in a body', { timeout: 60_000 }, async () => {
  const { stdout, code } = await judge(
    {
      request(asked) {
        if (asked.body.includes(TOKENS.ann)) asked.headers.authorization = `Bearer ${TOKENS.ann}`
      },
    },
    '--verbose',
  )

  expect(stdout).toMatch(/^✗ auth-by-header-only: /m)
  expect(stdout).toContain('"credential":"…"')
  expect(stdout).not.toContain(TOKENS.ann)
  expect(code).toBe(1)
})

test('JUnit has a test case for each check, and a failure only for what fails the run', () => {
  const [one, other] = etag.map(({ junit }) => junit) as [string, string]

  expect(one).toMatch(
    /^<\?xml version="1\.0" encoding="UTF-8"\?>\n<testsuites tests="(\d+)" failures="0" skipped="\d+"/,
  )
  expect(one).toContain('<system-out>should: There is no ETag.')
  expect(other).toMatch(/<testsuites tests="\d+" failures="[1-9]"/)
  expect(other).toMatch(
    /<testcase classname="opencall\.should" name="registry-caching: [^"]+" time="[\d.]+">\n\s+<failure type="should"/,
  )
  expect(one.match(/<testcase /g)?.length).toBe(Number(/tests="(\d+)"/.exec(one)?.[1]))
})

test('arguments from a file are sent as they are, and a wrong file is refused with what is wrong', async () => {
  const write = async (value: unknown) => {
    const file = join(folder, 'args.json')
    await writeFile(file, typeof value === 'string' ? value : JSON.stringify(value))
    return file
  }
  const refused = async (value: unknown) => judge({}, '--args', await write(value))
  const bodies: string[] = []
  const observed: Hooks = { request: ({ body }) => void bodies.push(body.toString()) }

  const known = {
    'v1:weather.station': { args: { id: 'zrh' }, result: { name: 'Zürich' }, fails: { args: { id: 'x' } } },
  }
  const { code } = await judge(observed, '--args', await write(known))

  expect(bodies.some((body) => body.includes('"op":"v1:weather.station","args":{"id":"zrh"}'))).toBe(true)
  expect(code).toBe(0)
  expect((await refused('{')).stderr).toMatch(/args\.json is not JSON/)
  expect((await refused([])).stderr).toMatch(/must be an object/)
  expect((await refused({ 'v1:a': { id: 1 } })).stderr).toMatch(/v1:a in .+ needs "args"/)
  expect((await refused({ 'v1:a': { args: {}, safe: true } })).stderr).toMatch(/has "safe"/)
  expect((await judge({}, '--args', join(folder, 'none.json'))).stderr).toMatch(/Cannot read .+ENOENT/)
  expect((await judge({}, '--operation', 'adder=v1:a')).stderr).toMatch(/There is no part "adder"/)
}, 60_000)

test.each(['opencall', 'oxp', 'otc', 'rest'] as const)(
  'the quickstart is found out and nothing is found in it: %s',
  async (protocol) => {
    const served = await serveQuickstart()
    onTestFinished(served.close)
    const url = protocol === 'otc' ? `${served.url}/otc` : served.url

    // Both spend most of their time waiting, so they wait side by side.
    const command = ['conformance', url, '--protocol', protocol, '--json', '-']
    const [careful, { stdout }] = await Promise.all([
      runCommand([...command, '--strict']),
      runCommand([...command, '--side-effects']),
    ])

    const { checks, findings, called } = JSON.parse(stdout)
    expect(findings).toEqual([])
    expect(called).toContain(protocol === 'opencall' ? 'v1:Notes.Add' : protocol === 'rest' ? 'Notes_Add' : 'Notes.Add')
    expect(checks.filter(({ outcome }: { outcome: string }) => outcome === 'met').length).toBeGreaterThan(
      0.8 * checks.length,
    )
    const push = checks.filter(({ id }: { id: string }) => /^(?:stream|socket)-/.test(id))
    if (protocol === 'opencall') {
      expect(push).toHaveLength(10)
      expect(push.filter(({ outcome }: { outcome: string }) => outcome !== 'met')).toEqual([])
    }
    expect(careful.code).toBe(0)
    expect(JSON.parse(careful.stdout).called.join()).not.toContain('Notes')
  },
  60_000,
)

test('an address where something else answers is told apart from a server that breaks a MUST', async () => {
  const other = createServer((_request, response) => response.writeHead(404).end('nothing here'))
  await once(other.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void other.close())

  const { code, stderr } = await runCommand([
    'conformance',
    `http://127.0.0.1:${(other.address() as AddressInfo).port}`,
  ])

  expect(code).toBe(3)
  expect(stderr).toContain('/.well-known/ops')
})
