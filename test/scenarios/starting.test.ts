/** A start that fails leaves nothing open. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createServer, operation } from 'callplane'
import { expect, test } from 'vitest'
import { startSite, temporaryFolder } from './server.ts'

const operations = [operation('v1:x', { run: () => 1 })]

test('what could not be started the first time can be the second, in the same process', async () => {
  const data = temporaryFolder()
  writeFileSync(join(data, 'objects'), 'in the way')
  await expect(createServer({ operations, data })).rejects.toMatchObject({ kind: 'unavailable' })

  rmSync(join(data, 'objects'))
  const site = await startSite({ operations, data })

  expect((await site.call('v1:x')).body).toMatchObject({ state: 'complete', result: 1 })
})
