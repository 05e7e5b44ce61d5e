/**
 * Runs the official suite of MCP against the fixture: what each revision requires, and the Tasks extension. Nothing is
 * expected to fail.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { startFixture } from './fixture.ts'

const folder = import.meta.dirname
const suite = join(folder, '../../node_modules/@modelcontextprotocol/conformance/dist/index.js')
/** Not required by any revision, so that the suite runs them there without counting them. */
const EXTENSIONS = [
  'tasks-lifecycle',
  'tasks-capability-negotiation',
  'tasks-wire-fields',
  'tasks-request-state-removal',
  'tasks-mrtr-input',
  'tasks-request-headers',
  'tasks-dispatch-and-envelope',
  'tasks-required-task-error',
  'tasks-mrtr-composition',
  'http-header-validation',
  'http-custom-header-server-validation',
]

async function run(args: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [suite, 'server', ...args], { stdio: 'inherit' })
  const [code] = (await once(child, 'exit')) as [number | null]
  return code ?? 1
}

const fixture = await startFixture()
let failed = 0
try {
  for (const revision of ['2026-07-28', '2025-11-25']) {
    failed += await run(['--url', fixture.url, '--requirements', revision])
  }
  for (const scenario of EXTENSIONS) {
    failed += await run(['--url', fixture.url, '--scenario', scenario, '--spec-version', '2026-07-28', '--force'])
  }
} finally {
  await fixture.close()
}
process.exit(failed === 0 ? 0 : 1)
