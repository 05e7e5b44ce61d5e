/** A program with real pipes has the same limits as one with Node's sockets, and can open its output by name. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { openOutputPipes } from '../../src/platform/pipes.ts'
import { runProgram } from '../../src/platform/processes.ts'

const LIMITS = { timeoutMs: 60_000 }
/** More than any pipe holds. */
const MUCH = 'x'.repeat(3_000_000)

async function shell(script: string, input = '') {
  const program = { file: '/bin/sh', args: ['-c', script], input, maxBytes: 4_000_000, output: await openOutputPipes() }
  return runProgram(program, LIMITS)
}

describe.skipIf(process.platform === 'win32')('pipes, which Windows has no names for', () => {
  test('a program opens its output by name', async () => {
    const exit = await shell('cat > /dev/stdout; echo a word > /dev/stderr; exit 3', 'hello')

    expect(exit).toMatchObject({ ending: 'exited', exitCode: 3, stderr: 'a word\n', inputBroke: false })
    expect(exit.stdout.toString()).toBe('hello')
  })

  test('more than a pipe holds passes in both directions', async () => {
    const exit = await shell('cat', MUCH)

    expect(exit).toMatchObject({ exitCode: 0, inputBroke: false })
    expect(exit.stdout.toString()).toBe(MUCH)
  })

  test('a program that leaves its input unread keeps its output', async () => {
    const exit = await shell('echo done', MUCH)

    expect(exit).toMatchObject({ ending: 'exited', exitCode: 0, inputBroke: true })
    expect(exit.stdout.toString()).toBe('done\n')
  })

  test('output is read until every program has closed it, and no longer after a kill', async () => {
    const late = await shell('exec 3<&0; (cat <&3; echo end) &', 'begin\n')
    // A closed pipe alone does not end it.
    const endless = 'trap "" PIPE; while :; do echo more; done 2>/dev/null'
    const killed = await runProgram(
      { file: '/bin/sh', args: ['-c', endless], maxBytes: 1_000, output: await openOutputPipes() },
      LIMITS,
    )

    expect(late.stdout.toString()).toBe('begin\nend\n')
    expect(killed).toMatchObject({ ending: 'overflowed', signal: 'SIGKILL' })
  })

  test.each([
    ['ends', { file: '/bin/sh', args: ['-c', 'exit 0'] }, undefined],
    ['is missing', { file: '/nowhere/program', args: [] }, 'ENOENT'],
    ['is refused by the system', { file: '/bin/true', args: ['x'.repeat(10_000_000)] }, 'E2BIG'],
  ])('of a program that %s, neither a name nor an open pipe is left', async (_why, program, code) => {
    const folder = mkdtempSync(join(tmpdir(), 'callplane-names-'))
    vi.stubEnv('TMPDIR', folder)
    onTestFinished(() => {
      vi.unstubAllEnvs()
      rmSync(folder, { recursive: true, force: true })
    })
    const output = await openOutputPipes()
    const closed = [output.stdout, output.stderr].map(
      (stream) => new Promise((resolve) => void stream.once('close', resolve)),
    )

    const failure = await runProgram({ ...program, input: MUCH, maxBytes: 1, output }, LIMITS).then(
      () => undefined,
      (error: NodeJS.ErrnoException) => error.code,
    )

    expect(failure).toBe(code)
    await Promise.all(closed)
    expect(readdirSync(folder)).toEqual([])
  })
})
