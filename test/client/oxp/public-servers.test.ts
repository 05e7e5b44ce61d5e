/** The client with two servers from PyPI. Both differ from the specification: wrapped calls, but plain results and lists. */
import { createOxpClient } from 'callplane/client/oxp'
import { expect, test } from 'vitest'
import { describeWith, toolServers } from '../../engines/engines.ts'
import { startToolServer } from '../../engines/tool-server.ts'
import { verifies } from '../../requirements.ts'
import { failureOf } from './scripted-server.ts'

describeWith(toolServers, 'public servers', () => {
  test('universal-tool-server: OTC, with a token, versions and permissions', async () => {
    verifies('oxp:08', 'oxp:09')
    await using server = await startToolServer('test/client/oxp/universal_tools.py')
    const oxp = createOxpClient({ url: server.url, protocol: 'otc', token: 'a-token' })

    const tools = await oxp.tools()
    const sum = await oxp.call('add@1.0.0', { a: 1, b: 2 }, { callId: 'c1' })
    const greeting = await oxp.call('greet', { name: 'Ada' })
    const unmarked = await createOxpClient({
      url: server.url,
      protocol: 'otc',
      token: 'a-token',
      sendVersion: false,
    }).call('add', { a: 2, b: 2 })
    const invalid = await failureOf(oxp.call('add', { a: 'x' }))
    const unknown = await failureOf(oxp.call('nope'))
    const crashed = await failureOf(oxp.call('count'))
    const counted = await oxp.call('count')
    const stranger = await failureOf(createOxpClient({ url: server.url, protocol: 'otc', token: 'wrong' }).tools())

    expect(tools.map(({ id, version }) => [id, version])).toEqual([
      ['add@1.0.0', '1.0.0'],
      ['greet@2.0.0', '2.0.0'],
      ['count@1.0.0', '1.0.0'],
    ])
    expect(tools[0]).toMatchObject({ description: 'Adds two numbers.', inputSchema: { required: ['a', 'b'] } })
    expect(sum).toEqual({ value: 3, callId: 'c1', durationMs: undefined })
    expect([greeting.value, unmarked.value]).toEqual([{ text: 'Hello Ada' }, 4])
    expect(invalid).toMatchObject({ code: 'REFUSED', outcome: 'refused', status: 400 })
    expect(invalid.message).toContain('Invalid payload')
    expect(unknown).toMatchObject({ code: 'UNAUTHORIZED', status: 403 })
    // It ran once and crashed. The server says nothing about a retry, so there was none.
    expect(crashed).toMatchObject({ code: 'SERVER_ERROR', outcome: 'unknown', status: 500 })
    expect(counted.value).toBe(2)
    expect(stranger).toMatchObject({ code: 'UNAUTHORIZED', status: 401, message: 'Unknown token' })
  })

  test('langchain-tool-server: OXP wrapped and OTC; a flat call is told what is missing', async () => {
    await using server = await startToolServer('test/client/oxp/langchain_tools.py')

    const flat = await failureOf(createOxpClient({ url: server.url }).call('add', { a: 1, b: 2 }))
    expect(flat).toMatchObject({ code: 'INVALID_INPUT', outcome: 'refused', status: 422 })
    expect(flat.message).toContain("'request'")
    for (const protocol of ['oxp-wrapped', 'otc'] as const) {
      const oxp = createOxpClient({ url: server.url, protocol })
      const tools = await oxp.tools()
      const sum = await oxp.call('add', { a: 1, b: 2 })
      const invalid = await failureOf(oxp.call('add', { a: 1 }))
      const unknown = await failureOf(oxp.call('nope'))
      const crashed = await failureOf(oxp.call('explode'))

      expect(tools.map(({ id, version }) => [id, version])).toEqual([
        ['add', undefined],
        ['explode', undefined],
      ])
      expect(sum.value).toBe(3)
      expect(invalid).toMatchObject({ code: 'REFUSED', status: 400, message: expect.stringContaining("'b'") })
      expect(unknown).toMatchObject({ code: 'REFUSED', status: 404, message: 'Tool nope not found' })
      expect(crashed).toMatchObject({ code: 'SERVER_ERROR', outcome: 'unknown' })
    }
  })
})
