/**
 * `callplane conformance` on a server that is not ours: it reports nothing without a defect, and finds each planted
 * one.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Finding, Verdict } from '../../src/testing/conformance/index.ts'
import { runCommand } from '../cli/streams.ts'
import { type Defect, startReferenceServer, TOKENS } from './reference-server.ts'

interface Report {
  conforms: boolean
  findings: Finding[]
  checks: Verdict[]
  called: string[]
  leftOut: { op: string; reason: string; needs?: string }[]
}

let folder: string
let args: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'callplane-reference-'))
  args = join(folder, 'calls.json')
  const calls = {
    'v1:alerts.subscribe': { args: { city: 'Bern' } },
    'v1:alerts.acknowledge': { args: { alert: 'rain' } },
  }
  await writeFile(args, JSON.stringify(calls))
})
afterAll(() => rm(folder, { recursive: true }))

const CALLERS = ['--token', TOKENS.ann, '--other-token', TOKENS.ben]

async function examine(defect: Defect | undefined, options: readonly string[]) {
  const server = await startReferenceServer(defect)
  onTestFinished(() => server.close())
  const file = join(folder, 'report.json')
  const { code, stdout, stderr } = await runCommand(['conformance', server.url, ...options, '--json', file])
  const report = code === 0 || code === 1 ? (JSON.parse(await readFile(file, 'utf8')) as Report) : undefined
  return { code, stdout, stderr, report }
}

const FOUND: readonly [Defect, check: string, sentence: RegExp][] = [
  ['null-body', 'malformed', /^The body null gets 500, not 400\.$/],
  [
    'no-location',
    'async-accepted',
    /^state of the response to POST \/call is "accepted", but there is no location to poll\.$/,
  ],
  ['utf16-offsets', 'chunk-offsets', /^chunk\.length .+ \(it counts UTF-16 units, not bytes\) is \d+, not \d+\.$/],
  [
    'shared-keys',
    'key-per-operation',
    /^v1:alerts\.acknowledge with a key that v1:alerts\.subscribe had used gets the result of v1:alerts\.subscribe/,
  ],
  ['open-polls', 'calls-are-private', /^GET \/ops\/\S+ by another caller gets 202, not 404\.$/],
  ['put-404', 'methods-of-every-endpoint', /^PUT \/call gets 404, not 405\.$/],
]

describe('a server that conforms', { timeout: 60_000 }, () => {
  test('gets no finding of any level, and most of the checks were run', async () => {
    const { code, report, stdout } = await examine(undefined, [...CALLERS, '--args', args])
    // This server has neither streams nor a WebSocket.
    const isPush = ({ id }: Verdict) => /^(?:stream|socket)-/.test(id)
    const checks = report?.checks.filter((check) => !isPush(check)) ?? []
    const push = report?.checks.filter(isPush) ?? []

    expect(report?.findings).toEqual([])
    expect(new Set(push.map(({ outcome }) => outcome))).toEqual(new Set(['not-applicable']))
    expect(checks.filter(({ outcome }) => outcome === 'met').length).toBeGreaterThan(0.9 * checks.length)
    expect(checks.filter(({ outcome }) => outcome === 'skipped').map(({ id }) => id)).toEqual([
      'polling-too-often',
      'chunks-of-a-small-result',
    ])
    expect(stdout).toMatch(/\n\d+ checks: \d+ met, 0 unmet, \d+ not applicable, 2 skipped\nnothing found\n$/)
    expect(code).toBe(0)
  })

  test('is not asked for side effects unless that is allowed, and the report says so', async () => {
    const { report, stdout } = await examine(undefined, CALLERS)
    const allowed = await examine(undefined, [...CALLERS, '--side-effects'])

    expect(report?.called).not.toContain('v1:alerts.subscribe')
    expect(report?.leftOut).toContainEqual({
      op: 'v1:alerts.subscribe',
      reason: 'has side effects',
      needs: '--side-effects',
    })
    expect(stdout).toContain('Not called, because it has side effects: v1:alerts.subscribe, v1:alerts.acknowledge\n')
    expect(stdout).toMatch(/\n +\d+ {2}needs --side-effects: /)
    expect(report?.findings).toEqual([])
    expect(allowed.report?.called).toContain('v1:alerts.subscribe')
    expect(allowed.report?.findings).toEqual([])
  })

  test('with one token says once what needs the other', async () => {
    const { stdout, report } = await examine(undefined, ['--token', TOKENS.ann, '--args', args])

    expect(stdout).toMatch(/\n +3 {2}needs --other-token: whether one caller can reach another's calls\n/)
    expect(report?.findings).toEqual([])
  })

  test('without a token says once that it needs one, and exits 5', async () => {
    const none = await examine(undefined, [])
    const wrong = await examine(undefined, ['--token', 'not-a-token'])

    expect(none.stderr).toBe('callplane: The server needs a token. Pass one with --token or CALLPLANE_TOKEN.\n')
    expect(wrong.stderr).toMatch(/refuses this token/)
    expect([none.code, wrong.code]).toEqual([5, 5])
  })
})

describe('a server with one defect', { timeout: 60_000 }, () => {
  test.each(FOUND)('%s is found by %s', async (defect, check, sentence) => {
    const { code, report, stdout } = await examine(defect, [...CALLERS, '--args', args])
    const finding = report?.findings.find(({ checks }) => checks.some(({ id }) => id === check))

    expect(finding).toMatchObject({ level: 'must', reason: expect.stringMatching(sentence) })
    expect(finding?.evidence?.received.status).toBeGreaterThanOrEqual(200)
    expect(stdout).toContain(`MUST   ${finding?.reason}`)
    expect(stdout).not.toContain(TOKENS.ann)
    expect(JSON.stringify(report)).not.toContain(TOKENS.ann)
    expect(code).toBe(1)
  })
})
