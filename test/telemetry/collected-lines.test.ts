/**
 * Standard output gets the lines of one event-loop turn together, and no line is lost when a process ends. Tested with
 * real processes.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'

const PROCESS = join(import.meta.dirname, 'logging-process.ts')

function start(file: string, args: string[], out: 'pipe' | number = 'pipe') {
  const child = spawn(file, args, { stdio: ['ignore', out, 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

async function run(...args: string[]) {
  const child = start(process.execPath, [PROCESS, ...args])
  const [stdout, stderr] = await Promise.all([text(child.stdout as Readable), text(child.stderr as Readable)])
  return { lines: linesIn(stdout), stderr }
}

function linesIn(output: string): { msg: string; number?: number }[] {
  return output
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
}

test.each([
  ['runs out of work', 'later', ['said', 'said', 'said', 'last']],
  ['exits', 'exit', ['said', 'said', 'said']],
  ['throws an uncaught error', 'throw', ['said', 'said', 'said']],
  ['is asked to end', 'terminated', ['said', 'said', 'said', 'ending']],
  ['says more at once than is collected', 'long', ['said', 'said', 'said', 'long', 'last']],
  ['logs to the stream of standard output', 'by the stream', ['said', 'said', 'said']],
])('a process that %s has written every line, in order', async (_what, how, messages) => {
  const { lines } = await run(how)

  expect(lines.map(({ msg }) => msg)).toEqual(messages)
  expect(lines.slice(0, 3).map(({ number }) => number)).toEqual([1, 2, 3])
})

test('a warning is written at once, with the lines before it', async () => {
  const { lines, stderr } = await run('warn')

  expect(lines.map(({ msg }) => msg)).toEqual(['said', 'said', 'said', 'urgent'])
  expect(stderr).toBe('0 1')
})

test('a thousand lines of one turn reach a file in a few writes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'callplane-lines-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'log')
  const out = openSync(file, 'a')
  const child = start(process.execPath, [PROCESS, 'count', '1000'], out)

  const writes = Number(await text(child.stderr as Readable))
  closeSync(out)

  const numbers = linesIn(readFileSync(file, 'utf8')).map(({ number }) => number)
  expect(numbers).toEqual(Array.from({ length: 1000 }, (_, at) => at + 1))
  expect(writes).toBeLessThan(10)
})

test('lines of processes that share a pipe do not end up in each other, however full it is', async () => {
  const one = `"${process.execPath}" "${PROCESS}" share 10000 &`
  const child = start('sh', ['-c', `{ ${one} ${one} wait; } | dd bs=5000 status=none`])
  // Nothing is read before both have begun, so that they write at the same time.
  for (let begun = 0; begun < 2; ) begun += String((await once(child.stderr as Readable, 'data'))[0]).length

  const lines = linesIn(await text(child.stdout as Readable))

  expect(lines).toHaveLength(20_000)
})

test.each([
  ['continues without its log', 'later', 0],
  ['can hear of it where it gave the stream', 'handled', 3],
])('a process whose reader has gone %s', async (_what, how, code) => {
  const child = start('sh', ['-c', `"${process.execPath}" "${PROCESS}" ${how} 5000; echo "ended with $?" >&2`])
  child.stdout?.destroy()

  const said = text(child.stderr as Readable)
  await once(child, 'exit')

  expect(await said).toBe(`ended with ${code}\n`)
})
