/** The SQLite store among processes: exclusive use, crashes, and a disk that stops accepting writes. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { sampleInstance } from '../../src/testing/fakes/instances.ts'
import { temporaryFolder } from './folder.ts'

const clock = createManualClock()
const open = (file: string) => createSqliteStore({ file, clock, lockWaitMs: 0 })
const SCRIPT = fileURLToPath(new URL('./store-process.ts', import.meta.url))

/** `maxBlocks` bounds the size of any file it writes, in blocks of 512 or 1,024 bytes as the shell has it. */
function start(mode: string, file: string, maxBlocks?: number): ChildProcessByStdio<Writable, Readable, null> {
  const command = [process.execPath, SCRIPT, mode, file]
  const shell = maxBlocks === undefined ? [] : ['sh', '-c', `ulimit -S -f ${maxBlocks}; exec "$@"`, 'sh']
  const [program, ...args] = [...shell, ...command] as [string, ...string[]]
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

async function firstLine(child: ChildProcessByStdio<Writable, Readable, null>): Promise<string> {
  const [bytes] = await once(child.stdout, 'data')
  return String(bytes).trim()
}

function idsAfter(word: string, said: string): string[] {
  const lines = said.split('\n').map((line) => line.split(' '))
  return lines.filter(([first]) => first === word).map(([, id]) => id as string)
}

test('a second process is refused while the first has the file, and let in after it', async () => {
  const file = join(temporaryFolder(), 'calls.db')
  const child = start('hold', file)
  expect(await firstLine(child)).toBe('open')

  const refused = { kind: 'unavailable', code: 'STORAGE_LOCKED', message: expect.stringContaining(file) }
  expect(() => open(file)).toThrow(expect.objectContaining(refused))

  child.stdin.end()
  await once(child, 'exit')
  await open(file).close()
})

test('looking at a file that this process has open does not let another process in', async () => {
  const file = join(temporaryFolder(), 'calls.db')
  const store = open(file)
  // Closing any descriptor of a file drops all POSIX locks that the process has on it.
  expect(() => open(file)).toThrow(expect.objectContaining({ code: 'STORAGE_LOCKED' }))

  const said = await firstLine(start('hold', file))

  expect(said).toBe('refused STORAGE_LOCKED')
  expect(await store.accept(sampleInstance(clock.now()))).toEqual({ kind: 'created' })
  await store.close()
})

test('of two processes that start on an empty folder at once, one gets it', async () => {
  const file = join(temporaryFolder(), 'calls.db')

  const said = await Promise.all([firstLine(start('hold', file)), firstLine(start('hold', file))])

  expect(said.sort()).toEqual(['open', 'refused STORAGE_LOCKED'])
})

test('after a process is killed, its acknowledged calls are there and its lock is gone', async () => {
  const file = join(temporaryFolder(), 'calls.db')
  const child = start('die', file)
  const [said, [, signal]] = await Promise.all([text(child.stdout), once(child, 'exit')])

  const store = open(file)

  expect(signal).toBe('SIGKILL')
  const completed = idsAfter('completed', said)
  expect(completed.length).toBe(100)
  for (const id of idsAfter('accepted', said)) expect(await store.get(id)).toMatchObject({ id })
  for (const id of completed) expect(await store.get(id)).toMatchObject({ state: 'complete' })
  await store.close()
})

test.skipIf(process.platform !== 'linux')(
  'on a full disk writes fail completely, and the store continues when there is space again (prlimit is Linux)',
  async () => {
    const file = join(temporaryFolder(), 'calls.db')
    const child = start('fail', file, 2_000)
    const [said, [exitCode]] = await Promise.all([text(child.stdout), once(child, 'exit')])

    const store = open(file)

    expect(exitCode).toBe(0)
    const [failed, accepted] = [idsAfter('STORAGE_FAILED', said), idsAfter('accepted', said)]
    expect(failed.length).toBeGreaterThan(0)
    expect(said.split('room\n')[1]).toMatch(/^accepted /)
    for (const id of failed) expect(await store.get(id)).toBe(undefined)
    for (const id of accepted) expect(await store.get(id)).toMatchObject({ id })
    await store.close()
  },
)
