/** The schema of an embedded database, from the command line. */
import { operation } from 'callplane'
import { expect, test } from 'vitest'
import { startSite, temporaryFolder } from '../scenarios/server.ts'
import { runCommand } from './streams.ts'

test('migrate tells the version of a data folder, applies what is missing, and leaves one in use alone', async () => {
  const data = temporaryFolder()
  const at = ['--data', data]

  const before = await runCommand(['migrate', '--check', ...at])
  const applied = await runCommand(['migrate', '--apply', ...at])
  const after = await runCommand(['migrate', '--check', '--json', ...at])
  await startSite({ operations: [operation('v1:echo', { run: () => null })], data })
  const inUse = await runCommand(['migrate', '--check', ...at])

  expect(before).toMatchObject({ code: 1, stdout: expect.stringContaining(' has version 0. ') })
  expect(applied).toMatchObject({ code: 0, stdout: expect.stringMatching(/version 0 became version \d+\.\n$/) })
  const { version, known, pending } = JSON.parse(after.stdout)
  expect({ code: after.code, same: version === known, pending }).toEqual({ code: 0, same: true, pending: [] })
  expect(inUse).toMatchObject({ code: 1, stderr: expect.stringContaining('is in use by another process') })
})

test('migrate needs to know what to do, and where', async () => {
  const neither = await runCommand(['migrate'])
  const elsewhere = await runCommand(['migrate', '--check', '--store', 'mysql://somewhere'])
  const embedded = await runCommand(['serve', 'examples/quickstart', '--no-migrate', '--data', temporaryFolder()])

  expect(neither).toMatchObject({ code: 2, stderr: expect.stringContaining('Pass --check or --apply.') })
  expect(elsewhere).toMatchObject({ code: 2, stderr: expect.stringContaining('postgres://user@host') })
  expect(embedded).toMatchObject({ code: 2, stderr: expect.stringContaining('--no-migrate needs a Postgres store') })
})
