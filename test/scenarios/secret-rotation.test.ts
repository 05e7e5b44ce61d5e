/** A secret is replaced while a call waits for its next attempt. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { operation } from 'callplane'
import { expect, test } from 'vitest'
import { openTool } from '../backends/tool-server.ts'
import { verifies } from '../requirements.ts'
import { createStepClock, startSite, temporaryFolder } from './server.ts'

const PROFILES = {
  bearer: { secretRef: 'key' },
  api_key_header: { profile: 'api_key_header', secretRef: 'key', headerName: 'X-Api-Key' },
} as const

test.each(Object.entries(PROFILES))('the next attempt shows the new one: %s', async (profile, auth) => {
  verifies('contract:113', 'contract:114', 'contract:120')
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'key'), 'the-first-secret')
  const tool = await openTool((_asked, response) => {
    response.writeHead(tool.asked.length === 1 ? 503 : 200).end('{"found":3}')
  })
  const clock = createStepClock()
  const backend = { kind: 'http', endpoint: tool.url, allowPrivate: true }
  const retry = { attempts: 2, backoffMs: 700 }
  const site = await startSite({
    operations: [operation('v1:web.search', { backend, auth, retry, model: 'async' })],
    secrets: [{ kind: 'files', folder }],
    clock,
  })

  await site.call('v1:web.search', {}, { requestId: 'r1' })
  await clock.timer(700)
  writeFileSync(join(folder, 'key'), 'the-second-secret')
  clock.advance(700)
  const { body } = await site.ended('r1')

  expect(body.result).toEqual({ found: 3 })
  const shown = tool.asked.map(({ headers }) =>
    profile === 'bearer' ? headers.authorization?.replace('Bearer ', '') : headers['x-api-key'],
  )
  expect(shown).toEqual(['the-first-secret', 'the-second-secret'])
})
