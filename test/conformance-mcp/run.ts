/**
 * Runs the official MCP suite against the fixture: the requirements of each revision, and the Tasks extension. No
 * failure is expected.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { startFixture } from './fixture.ts'

const folder = import.meta.dirname
const suite = join(folder, '../../node_modules/@modelcontextprotocol/conformance/dist/index.js')
/** No revision requires these cases, so the suite runs them without counting them. */
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
