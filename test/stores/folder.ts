/** A separate folder for each test, and stores in it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'callplane-store-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
