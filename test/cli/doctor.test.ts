/** What the doctor says about a data folder. */
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { operation } from 'callplane'
import { expect, test } from 'vitest'
import { startSite, temporaryFolder } from '../scenarios/server.ts'
import { runCommand } from './streams.ts'

test('a data folder is fine, in use or not, until others can read its keys', async () => {
  const data = join(temporaryFolder(), 'data')
  const absent = await runCommand(['doctor', '--data', data])
  const site = await startSite({ operations: [operation('v1:echo', { run: () => null })], data })
  const inUse = await runCommand(['doctor', '--data', data])
  await site.close()
  chmodSync(data, 0o755)
  chmodSync(join(data, 'admin.token'), 0o644)

  const readable = await runCommand(['doctor', '--data', data])

  expect(absent).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ok +database.*\nok +folder/) })
  expect(inUse).toMatchObject({ code: 0, stdout: expect.stringContaining('A server uses the database') })
  expect(readable.code).toBe(1)
  expect(readable.stdout).toMatch(/PROBLEM {2}keys +Other users .*admin\.token\.\n +Run: chmod 600/)
  expect(readable.stdout).not.toContain('link.key')
})

test('a file that is no database is a problem', async () => {
  const data = temporaryFolder()
  writeFileSync(join(data, 'callplane.db'), 'x'.repeat(4096))

  const { code, stdout } = await runCommand(['doctor', '--data', data, '--json'])

  expect(code).toBe(1)
  expect(JSON.parse(stdout.split('\n')[0] ?? '')).toMatchObject({ level: 'problem', about: 'database' })
})
