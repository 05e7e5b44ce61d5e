import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { describeWith, pythonClients } from './engines.ts'
import { python } from './python.ts'

const VERSIONS = 'test/engines/python/versions.py'

describeWith(pythonClients, 'Python', () => {
  test('has the packages that scripts/engines/python.txt names', async ({ signal }) => {
    const file = readFileSync(join(import.meta.dirname, '../../scripts/engines/python.txt'), 'utf8')
    const wanted = file.match(/^.+==.+$/gm)?.map((line) => line.replace('==', ' ')) ?? []

    const installed = await python(
      VERSIONS,
      wanted.map((line) => line.split(' ')[0] ?? ''),
      signal,
    )

    expect(installed.trimEnd().split('\n')).toEqual(wanted)
  })

  test('a script that fails rejects with what it wrote to standard error', async ({ signal }) => {
    await expect(python(VERSIONS, ['no-such-package'], signal)).rejects.toThrow('PackageNotFoundError')
  })

  test('a script that is no longer wanted is killed', async () => {
    const abort = new AbortController()
    const output = python('test/engines/python/forever.py', [], abort.signal)

    abort.abort()

    // It settles when the process has ended.
    await expect(output).rejects.toBe(abort.signal.reason)
  })
})
