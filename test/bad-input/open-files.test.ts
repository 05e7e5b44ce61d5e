/** A process with a low limit on open files completes all accepted calls, only later. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { type Envelope, temporaryFolder } from './server.ts'

const CLI = join(import.meta.dirname, '../../src/cli/main.ts')
const OPERATIONS = join(import.meta.dirname, 'operations.ts')
const EXPORTS = 120
/** So many files it may open beyond those it has open. */
const SPARE = 8

test.skipIf(process.platform !== 'linux')(
  'exports that find no free file descriptor are run again, and all of them complete (prlimit is Linux)',
  { timeout: 60_000 },
  async () => {
    const data = await temporaryFolder()
    const serve = ['--conditions=callplane-source', CLI, 'serve', OPERATIONS, '--port', '0', '--data', data]
    const child = spawn(process.execPath, serve, { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    const lines = createInterface(child.stdout)
    const [line] = await once(lines, 'line')
    const busy: string[] = []
    lines.on('line', (text: string) => text.includes('EMFILE') && busy.push(text))
    const { url } = JSON.parse(line)
    const send = async (op: string, requestId: string) => {
      const body = JSON.stringify({ op, args: {}, ctx: { requestId } })
      const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body }
      return (await fetch(`${url}/call`, init)).status
    }
    const ended = async (requestId: string) => {
      for (;;) {
        const response = await fetch(`${url}/ops/${requestId}`, { headers: { Prefer: 'wait=30' } })
        const envelope = (await response.json()) as Envelope
        if (envelope.state === 'complete' || envelope.state === 'error') return envelope
      }
    }

    const ids = Array.from({ length: EXPORTS }, (_, n) => `export-${n}`)
    // One connection for all: they need descriptors, too.
    for (const id of ids) expect(await send('v1:Rows.ExportMany', id)).toBe(202)
    const open = readdirSync(`/proc/${child.pid}/fd`).length
    execFileSync('prlimit', ['--pid', String(child.pid), `--nofile=${open + SPARE}`])
    expect(await send('v1:Rows.Release', 'release')).toBe(200)
    const states: unknown[] = []
    for (const id of ids) states.push((await ended(id)).state)

    expect(states.filter((state) => state === 'complete')).toHaveLength(EXPORTS)
    expect(busy.length).toBeGreaterThan(0)
  },
)
