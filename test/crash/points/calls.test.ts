/** A server ends after each single write of a call, and the next server recovers from that state. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { startTool } from '../../backends/tool-server.ts'
import { announcedStories, CALL_STORIES, webhookStory } from './call-stories.ts'
import { testEveryPoint } from './every-point.ts'

const secrets = mkdtempSync(join(tmpdir(), 'callplane-points-secrets-'))
writeFileSync(join(secrets, 'announce-key'), 'a-secret-that-only-both-know')
const receiver = await startTool((_asked, response) => void response.writeHead(204).end())
// It knows of a job once it was given one.
const tool = await startTool((asked, response) => {
  const known = asked.method === 'POST' || tool.asked.some(({ method }) => method === 'POST')
  response.writeHead(known ? 202 : 404).end()
})
afterAll(async () => {
  await receiver.close()
  await tool.close()
  rmSync(secrets, { recursive: true, force: true })
})

testEveryPoint([...CALL_STORIES, ...announcedStories(receiver.url, secrets), webhookStory(tool, secrets)])
