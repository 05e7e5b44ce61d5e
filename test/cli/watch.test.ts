import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { callOver, SOURCE, serveProcess, temporaryFolder } from './processes.ts'

// Processes start slowly on a busy machine.
vi.setConfig({ testTimeout: 30_000 })

const answers = (expression: string) => `export const answer: number = ${expression}`

test('a changed file starts the server again, a mistake is survived, and a new file is found', async () => {
  const operation = (name: string) => `
    import { operation } from '${SOURCE}'
    import { answer } from '../lib/answer.ts'
    export const op = operation('v1:${name}', { run: () => answer })`
  const folder = await temporaryFolder({ 'lib/answer.ts': answers('1'), 'app/ops.ts': operation('Answer') })
  const lib = join(folder, 'lib/answer.ts')
  const server = await serveProcess([join(folder, 'app'), '--watch', '--data', join(folder, '.data')])
  const answerAt = async (url: string, op = 'v1:Answer') => (await callOver(url, op)).body.result
  expect(await answerAt(server.url)).toBe(1)

  await writeFile(lib, answers('2'))
  expect(await answerAt((await server.nextStart()).url)).toBe(2)

  await writeFile(lib, answers(''))
  expect(await server.complaint('cannot be loaded')).toMatch(/answer\.ts:1 cannot be loaded: Expression expected/)
  await server.complaint('restarts when one of its files changes')

  // As many editors save: a new file takes the place of the old one.
  await writeFile(`${lib}.new`, answers('3'))
  await rename(`${lib}.new`, lib)
  expect(await answerAt((await server.nextStart()).url)).toBe(3)

  await writeFile(join(folder, 'app/more.ts'), operation('More'))
  expect(await answerAt((await server.nextStart()).url, 'v1:More')).toBe(3)

  server.kill('SIGTERM')
  expect(await server.ended).toBe(0)
})
