/** A generator of Python clients that is not ours makes a client of our document, and the client calls a real server. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { describeWith, PYTHON_GENERATOR, pythonGenerator } from '../engines/engines.ts'
import { python } from '../engines/python.ts'
import { startSite, temporaryFolder } from '../scenarios/server.ts'
import { operations } from './sample-operations.ts'

// The generator takes seconds.
vi.setConfig({ testTimeout: 60_000 })

describeWith(pythonGenerator, 'a client made by openapi-python-client', () => {
  test('calls, waits, fetches chunks and uploads', async ({ signal }) => {
    const site = await startSite({ operations })
    const folder = temporaryFolder()
    await writeFile(join(folder, 'openapi.json'), await (await site.request('/openapi.json')).text())

    const output = await python('test/codegen/foreign_client.py', [folder, site.url], signal, PYTHON_GENERATOR)

    expect(JSON.parse(output)).toEqual({
      sum: 3,
      async: 4,
      failure: 'NEGATIVE',
      refused: [400, 'VALIDATION_ERROR'],
      built: [202, 'Waiting', 'built house'],
      csv: 'a,b\n1,2\n',
      described: 5,
      envelope: { sum: 5 },
    })
  })
})
