import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { runCommand } from '../../src/backends/container/engine.ts'

test('a command of an engine that hangs, and does not listen, is ended', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'callplane-engine-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'engine.sh')
  writeFileSync(file, "#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 1; done\n")
  chmodSync(file, 0o755)

  const { ok, stderr } = await runCommand({ file, args: [] }, ['rm', '--force', 'one'], 200)

  expect(ok).toBe(false)
  expect(stderr).toContain('rm --force one')
})
