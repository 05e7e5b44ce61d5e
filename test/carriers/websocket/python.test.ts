/** Python's `websockets`, which shares no code with ours. */
import { expect, test } from 'vitest'
import { describeWith, pythonClients } from '../../engines/engines.ts'
import { python } from '../../engines/python.ts'
import { verifies } from '../../requirements.ts'
import { startSite } from '../../scenarios/server.ts'
import { counting } from './operations.ts'
import { withTokens } from './tokens.ts'

describeWith(pythonClients, 'Python', () => {
  test('calls, reads streams on the same connection and on one of its own, and uses a ticket once', async ({
    signal,
  }) => {
    verifies('opencall:304', 'opencall:306', 'opencall:075')
    const { ann, auth } = withTokens()
    const { url } = await startSite({ operations: [counting], auth })
    const output = await python('test/carriers/websocket/python_client.py', [url.replace('http', 'ws'), ann], signal)

    expect(JSON.parse(output)).toEqual({
      shared: ['streaming', [1, 1], [1, 2], [1, 3], 'complete'],
      frames: ['{"n":1}', '{"n":2}'],
      closed: [1000, 'complete'],
      again: [401, 'INVALID_TICKET'],
    })
  })
})
