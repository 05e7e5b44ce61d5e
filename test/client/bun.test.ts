/** The client in Bun, from its sources. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test, vi } from 'vitest'
import { BUN, describeWith, jsRuntimes } from '../engines/engines.ts'
import { startSite } from '../scenarios/server.ts'
import * as operations from './operations.ts'

vi.setConfig({ testTimeout: 60_000 })

describeWith(jsRuntimes, 'Bun', () => {
  test('calls, waits, downloads, uploads and reads a stream', async () => {
    const { url } = await startSite({ operations: Object.values(operations) })

    const { stdout } = await promisify(execFile)(BUN, [join(import.meta.dirname, 'bun-program.ts'), url])

    expect(JSON.parse(stdout)).toEqual({
      sum: 3,
      fault: true,
      rows: 3,
      text: 'row 0\nrow 1\n',
      // Bun adds a character set.
      upload: { bytes: 5, type: expect.stringMatching(/^text\/plain\b/) },
      frames: [1, 2, 3, 4],
    })
  })
})
