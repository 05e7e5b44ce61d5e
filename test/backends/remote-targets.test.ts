import { expect, onTestFinished, test } from 'vitest'
import { createRemoteClient } from '../../src/security/outbound/remote-client.ts'
import { openTool } from './tool-server.ts'

test('an address that is allowed for one tool is checked again for the next', async () => {
  const tool = await openTool((_, response) => response.end('hello'))
  const remote = createRemoteClient()
  onTestFinished(() => remote.close())
  const { signal } = new AbortController()
  const send = (allowPrivate: boolean) =>
    remote.send({ method: 'POST', url: tool.url, headers: {}, body: '', maxBytes: 100, allowPrivate, signal })

  expect((await send(true)).text).toBe('hello')
  await expect(send(false)).rejects.toMatchObject({ code: 'TARGET_REFUSED' })
  expect((await send(true)).text).toBe('hello')
})
