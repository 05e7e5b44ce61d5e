/** TLS to the broker: with its certificate, with one of the server's own, and with a certificate that is not known. */
import { createServer } from 'node:net'
import { operation } from 'callplane'
import { expect, onTestFinished, test, vi } from 'vitest'
import { describeWith, mqttBroker } from '../../engines/engines.ts'
import { freePort } from '../../engines/free-port.ts'
import { createCertificate } from '../../fixtures/tls.ts'
import { listen, type MqttSite, request, startBroker, startMqttSite } from './site.ts'

const hello = operation('v1:it.greets', { run: () => 'hello' })

/** A broker with a second listener that wants TLS, and a certificate from its clients. */
async function startSecure() {
  const certificate = createCertificate()
  onTestFinished(() => certificate[Symbol.dispose]())
  const port = await freePort()
  const { certFile, keyFile } = certificate
  const files = [`cafile ${certFile}`, `certfile ${certFile}`, `keyfile ${keyFile}`]
  const settings = [`listener ${port} 127.0.0.1`, ...files, 'require_certificate true', 'use_identity_as_username true']
  const broker = await startBroker({ allowAnonymous: true, settings })
  return { broker, certificate, url: `mqtts://127.0.0.1:${port}` }
}

async function stateOf(site: MqttSite) {
  const { carriers } = (await (await site.request('/ready')).json()) as { carriers: { mqtt: { connected: boolean } } }
  return carriers.mqtt
}

describeWith(mqttBroker, 'MQTT over TLS', () => {
  test('calls go through an encrypted connection, with a certificate on both sides', async () => {
    const { broker, certificate, url } = await startSecure()
    const { cert, key } = certificate
    const site = await startMqttSite([hello], { mqtt: { url, tls: { ca: cert, cert, key } } }, broker)
    const responses = await listen(broker, 'ops/r1/response')

    await request(broker, { op: 'v1:it.greets', ctx: { requestId: 'r1' } })

    expect(await responses.envelope()).toMatchObject({ state: 'complete', result: 'hello' })
    expect(await stateOf(site)).toEqual({ connected: true })
  })

  test.each([
    ['a broker whose certificate is not known', false, /certificate/],
    ['a broker that wants a certificate of the server', true, /certificate|connection/],
  ])('%s is not used, and /ready says why', async (_, hasCa, why) => {
    const { broker, certificate, url } = await startSecure()
    const tls = hasCa ? { ca: certificate.cert } : {}
    const site = await startMqttSite([hello], { mqtt: { url, tls } }, broker)

    await vi.waitUntil(async () => why.test(JSON.stringify(await stateOf(site))))

    expect(await stateOf(site)).toMatchObject({ connected: false, detail: expect.stringMatching(why) })
  })

  test('a server without TLS behind the address is not used', async () => {
    const plain = createServer((socket) => socket.on('error', () => {}).end('hello')).listen(0, '127.0.0.1')
    onTestFinished(() => void plain.close())
    await new Promise((resolve) => plain.once('listening', resolve))
    const broker = await startBroker()
    const { port } = plain.address() as { port: number }
    const site = await startMqttSite([hello], { mqtt: { url: `mqtts://127.0.0.1:${port}` } }, broker)

    expect(await stateOf(site)).toMatchObject({ connected: false })
  })
})
