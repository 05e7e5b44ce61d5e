/** Time from `node` to the first response of the quickstart, and the memory of an idle server. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '../free-port.ts'
import { summarise } from '../statistics.ts'
import { callRequest } from '../traffic.ts'
import type { Findings, Settings, Suite } from './suite.ts'

const GOAL_MS = 500
const GOAL_MB = 90
const IDLE_MS = 3_000
const GIVE_UP_MS = 20_000

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** As `npm start` runs it, and as a user who installed the package runs it. */
const VARIANTS = [
  { contender: 'callplane (sources)', main: 'scripts/callplane.js', flags: ['--conditions=callplane-source'] },
  { contender: 'callplane (built)', main: 'dist/cli/start.js', flags: [] },
] as const

export const start: Suite = async (settings) => {
  const findings: Findings = { rows: [], goals: [] }
  for (const { contender, main, flags } of VARIANTS) {
    if (!existsSync(join(ROOT, main))) {
      settings.say(`start: no ${main}, so "${contender}" is left out ("npm run build" makes it)`)
      continue
    }
    const { firstAnswerMs, idleMb } = await measureStarts([...flags, main], contender, settings)
    findings.rows.push({
      suite: 'start',
      contender,
      figures: { 'first answer ms': firstAnswerMs.median, 'idle RSS MB': idleMb },
    })
    findings.goals.push(
      {
        suite: 'start',
        name: `start of ${contender}`,
        goal: `first answer below ${GOAL_MS} ms`,
        measured: `${firstAnswerMs.median.toFixed(0)} ms (middle half ${firstAnswerMs.low.toFixed(0)}–${firstAnswerMs.high.toFixed(0)})`,
        met: firstAnswerMs.median < GOAL_MS,
      },
      {
        suite: 'start',
        name: `idle memory of ${contender}`,
        goal: `below ${GOAL_MB} MB`,
        measured: `${idleMb.toFixed(0)} MB after ${IDLE_MS / 1000} s`,
        met: idleMb < GOAL_MB,
      },
    )
  }
  return findings
}

async function measureStarts(command: readonly string[], name: string, { quick, folder, say }: Settings) {
  const times = quick ? 3 : 11
  say(`start: ${times} starts of ${name}`)
  const elapsed: number[] = []
  let idleMb = Number.NaN
  for (let time = 0; time < times; time++) {
    const port = await freePort()
    const data = join(folder, `${name}-${time}`)
    const args = [...command, 'serve', 'examples/quickstart', '--port', String(port), '--data', data]
    const startedAt = performance.now()
    const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] })
    try {
      await firstAnswer(port, child, startedAt + GIVE_UP_MS)
      elapsed.push(performance.now() - startedAt)
      if (time === times - 1) {
        await pause(IDLE_MS)
        idleMb = residentMb(child)
      }
    } finally {
      await end(child)
    }
  }
  return { firstAnswerMs: summarise(elapsed), idleMb }
}

/** Tries every two milliseconds until a call gets its first correct response. */
async function firstAnswer(port: number, child: ChildProcess, giveUpAt: number): Promise<void> {
  const { request } = callRequest('v1:Calculator.Add', { a: 1, b: 2 }, 'first')
  while (performance.now() < giveUpAt && child.exitCode === null) {
    const answer = await tryOnce(port, request)
    if (answer?.includes('"result":3')) return
    if (answer) throw new Error(`The first answer is wrong: ${answer}`)
    await pause(2)
  }
  throw new Error(`The server did not answer (exit code ${child.exitCode}).`)
}

function tryOnce(port: number, request: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(request))
    socket.once('data', (chunk) => {
      resolve(chunk.toString())
      socket.destroy()
    })
    socket.once('error', () => resolve(undefined))
  })
}

function residentMb({ pid }: ChildProcess): number {
  const status = `/proc/${pid}/status`
  if (!existsSync(status)) return Number.NaN
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(status, 'utf8'))?.[1]) / 1024
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const cut = setTimeout(() => child.kill('SIGKILL'), 10_000)
  await exited
  clearTimeout(cut)
}
