/** How the hub process learns that a worker has ended, and what does not count as its end. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { endOf } from '../../src/cli/serve/workers.ts'

test('a message that could not be sent to a worker is not its end', async () => {
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'])
  const ended = endOf(child)
  await once(child, 'spawn')

  child.emit('error', new Error('write EPIPE'))
  child.kill('SIGKILL')

  expect(await ended).toEqual({ how: 'was ended by SIGKILL', code: 1 })
})

test('a worker for which there is no process has ended', async () => {
  const ended = endOf(spawn('/nowhere/node'))

  expect(await ended).toEqual({ how: 'could not start (spawn /nowhere/node ENOENT)', code: 1 })
})
