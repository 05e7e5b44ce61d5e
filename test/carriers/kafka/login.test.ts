/** SASL and TLS: the server logs in at the brokers, beside the `auth` block of each envelope. */
import { jsonSchema, operation } from 'callplane'
import { expect, test, vi } from 'vitest'
import { describeWith, kafkaBroker, pythonClients, together } from '../../engines/engines.ts'
import { startKafka } from '../../engines/kafka.ts'
import { createCertificate } from '../../fixtures/tls.ts'
import { verifies } from '../../requirements.ts'
import { startSite } from '../../scenarios/server.ts'
import { PEER_TOKEN, startPeer } from './peer.ts'

vi.setConfig({ testTimeout: 120_000 })

const hello = operation('v1:say.hello', {
  args: jsonSchema<object>({ type: 'object' }),
  result: jsonSchema<string>({ type: 'string' }),
  run: async () => 'hello',
})

describeWith(together(kafkaBroker, pythonClients), 'SASL at Kafka', () => {
  test('the server logs in, and a wrong password is a clear error without the password', async () => {
    verifies('opencall:235', 'opencall:318')
    await using kafka = await startKafka({ users: { server: 'right-password', caller: 'other-password' } })
    const lines: string[] = []
    const start = (password: string) =>
      startSite({
        operations: [hello],
        auth: { tokens: [PEER_TOKEN] },
        kafka: {
          brokers: [kafka.address],
          createTopics: true,
          sasl: { mechanism: 'PLAIN', username: 'server', password },
        },
        log: 'debug',
        logTo: { write: (line) => lines.push(line) },
      })

    const refused = await start('wrong-password').catch((thrown: unknown) => thrown)
    await start('right-password')
    await using peer = await startPeer(kafka.address, ['callplane.replies'], {
      'security.protocol': 'SASL_PLAINTEXT',
      'sasl.mechanism': 'PLAIN',
      'sasl.username': 'caller',
      'sasl.password': 'other-password',
    })
    await peer.call('v1:say.hello', {}, { requestId: 'hello-1' })

    expect(await peer.reply('hello-1', 'complete')).toMatchObject({ result: 'hello' })
    expect(refused).toMatchObject({ code: 'KAFKA_REFUSED' })
    expect(String(refused) + lines.join('')).not.toMatch(/wrong-password|right-password/)
  })

  test.each(['SCRAM-SHA-256', 'SCRAM-SHA-512'] as const)('the server logs in with %s', async (mechanism) => {
    verifies('opencall:235', 'opencall:318')
    const users = { server: 'right-password', caller: 'other-password' }
    await using kafka = await startKafka({ users, mechanism })
    const start = (password: string) =>
      startSite({
        operations: [hello],
        auth: { tokens: [PEER_TOKEN] },
        kafka: {
          brokers: [kafka.address],
          createTopics: true,
          // The default mechanism is SCRAM-SHA-512.
          sasl: { username: 'server', password, ...(mechanism === 'SCRAM-SHA-256' && { mechanism }) },
        },
      })

    const refused = await start('wrong-password').catch((thrown: unknown) => thrown)
    await start('right-password')
    await using peer = await startPeer(kafka.address, ['callplane.replies'], {
      'security.protocol': 'SASL_PLAINTEXT',
      'sasl.mechanism': mechanism,
      'sasl.username': 'caller',
      'sasl.password': 'other-password',
    })
    await peer.call('v1:say.hello', {}, { requestId: 'hello-1' })

    expect(await peer.reply('hello-1', 'complete')).toMatchObject({ result: 'hello' })
    expect(refused).toMatchObject({ code: 'KAFKA_REFUSED' })
  })

  test('the connection is encrypted, and a certificate that is not known is refused', async () => {
    using certificate = createCertificate()
    const users = { server: 'right-password', caller: 'other-password' }
    await using kafka = await startKafka({ users, mechanism: 'SCRAM-SHA-512', tls: certificate })
    const start = (tls: true | { ca: string }) =>
      startSite({
        operations: [hello],
        auth: { tokens: [PEER_TOKEN] },
        kafka: {
          brokers: [kafka.address],
          createTopics: true,
          tls,
          sasl: { username: 'server', password: 'right-password' },
        },
      })

    const stranger = await start(true)
    const { carriers } = (await (await stranger.request('/ready')).json()) as { carriers: unknown }
    await stranger.close()
    await start({ ca: certificate.cert })
    await using peer = await startPeer(kafka.address, ['callplane.replies'], {
      'security.protocol': 'SASL_SSL',
      'ssl.ca.location': certificate.certFile,
      'sasl.mechanism': 'SCRAM-SHA-512',
      'sasl.username': 'caller',
      'sasl.password': 'other-password',
    })
    await peer.call('v1:say.hello', {}, { requestId: 'hello-1' })

    expect(await peer.reply('hello-1', 'complete')).toMatchObject({ result: 'hello' })
    expect(carriers).toMatchObject({ kafka: { connected: false } })
  })
})
