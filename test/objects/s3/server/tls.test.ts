/** Objects in S3 over HTTPS: with a certificate that the process trusts, and with one that it does not. */
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { createServer } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { chainProblems, readChain } from '../../../../src/testing/fakes/chunk-chain.ts'
import { pieces } from '../../../../src/testing/suites/objects/object-content.ts'
import { describeWith, s3Server } from '../../../engines/engines.ts'
import { createCertificate } from '../../../fixtures/tls.ts'
import { runAndKill } from '../../killed-writer.ts'
import { useSeaweedFs } from './bucket.ts'

describeWith(s3Server, 'objects in S3 over HTTPS', () => {
  const s3 = useSeaweedFs()

  async function startTls() {
    const certificate = createCertificate()
    onTestFinished(() => certificate[Symbol.dispose]())
    const server = createServer({ cert: certificate.cert, key: certificate.key }, (secure) => {
      const plain = connect(s3.server.port, '127.0.0.1')
      secure.pipe(plain).pipe(secure)
      // One side has left; the other follows.
      secure.on('error', () => plain.destroy())
      plain.on('error', () => secure.destroy())
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    return { certificate, endpoint: `https://127.0.0.1:${(server.address() as AddressInfo).port}` }
  }

  test('a trusted server is written to', { timeout: 60_000 }, async () => {
    const { certificate, endpoint } = await startTls()
    const { credentials } = s3.server
    const bucket = await s3.server.createBucket()
    const url = `s3://${bucket}/objects?endpoint=${endpoint}`

    await runAndKill('chunks', url, 120, 20, {
      NODE_EXTRA_CA_CERTS: certificate.certFile,
      AWS_ACCESS_KEY_ID: credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    })

    const chain = await readChain(await s3.open(bucket), 'call/chunks')
    expect(chain.length).toBeGreaterThan(10)
    expect(chainProblems(chain)).toEqual([])
  })

  test('a server with an unknown certificate gets nothing, and the log says why', async () => {
    const { endpoint } = await startTls()
    const bucket = await s3.server.createBucket()
    const reasons: unknown[] = []
    const log = { warn: (fields: object) => void reasons.push(...Object.values(fields).map(String)) }

    const objects = await s3.open(bucket, { endpoint, log, random: () => 0.01 })
    onTestFinished(() => objects.close())

    await expect(objects.put('call/a', pieces('a'), { mimeType: 'text/plain', maxBytes: 10 })).rejects.toMatchObject({
      code: 'STORAGE_FAILED',
    })
    expect(reasons.join()).toContain('self-signed certificate')
    expect(await (await s3.open(bucket)).info('call/a')).toBe(undefined)
  })
})
