/** The nodes of a server, on a terminal and for a program. */

import { operation } from 'callplane'
import { expect, test } from 'vitest'
import { startSite } from '../scenarios/server.ts'
import { runCommand } from './streams.ts'

test('nodes prints a table on a terminal and JSON lines for a program, with the token of the data folder', async () => {
  const site = await startSite({ operations: [operation('v1:echo', { run: () => null })] })
  const at = ['nodes', '--url', site.url, '--data', site.data]

  const lines = await runCommand(at)
  const shown = await runCommand(at, { tty: true })
  const refused = await runCommand(['nodes', '--url', site.url, '--data', '/nowhere'])

  expect(JSON.parse(lines.stdout)).toMatchObject({ node: 1, pid: process.pid, draining: false, address: site.url })
  expect(shown.stdout).toMatch(/^NODE +STATE +HOST/)
  expect(shown.stdout).toMatch(/\n1 +up /)
  expect(shown.stdout).toContain('In the store: 0 open calls, 0 of them queued.')
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('callplane:read') })
})
