/** The S3 server of SeaweedFS, with one user and buckets of its own. */
import { hash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSigner, EMPTY_HASH } from '../../src/objects/s3/http/sigv4.ts'
import { SEAWEEDFS } from './engines.ts'
import { freePort } from './free-port.ts'
import { type ServerProcess, startServer } from './server-process.ts'

export interface SeaweedFs extends ServerProcess {
  readonly port: number
  readonly endpoint: string
  readonly credentials: { accessKeyId: string; secretAccessKey: string }
  /** Creates a bucket and returns its name. */
  createBucket(): Promise<string>
}

export const REGION = 'us-east-1'

/** The parts of the server that listen, each on its port. */
const PORTS = ['master', 'volume', 'filer', 's3'] as const

export async function startSeaweedFs(): Promise<SeaweedFs> {
  const folder = await mkdtemp(join(tmpdir(), 'callplane-seaweedfs-'))
  const credentials = { accessKeyId: 'callplane-tests', secretAccessKey: hash('sha256', folder) }
  const config = join(folder, 's3.json')
  await writeFile(config, JSON.stringify({ identities: [identity(credentials)] }), { mode: 0o600 })
  const ports: string[] = []
  const port = await freePort()
  for (const part of PORTS) {
    ports.push(`-${part}.port=${part === 's3' ? port : await freePort()}`, `-${part}.port.grpc=${await freePort()}`)
  }
  const server = await startServer({
    command: [
      SEAWEEDFS,
      'server',
      `-dir=${folder}`,
      '-ip=127.0.0.1',
      '-ip.bind=127.0.0.1',
      ...ports,
      '-s3',
      `-s3.config=${config}`,
      '-s3.port.iceberg=0',
      '-s3.port.lance=0',
      `-s3.localSocket=${join(folder, 's3.sock')}`,
      `-filer.localSocket=${join(folder, 'filer.sock')}`,
      // Volumes are reserved per bucket, and the default size would reserve more than a small disk has.
      '-master.volumeSizeLimitMB=64',
      '-volume.max=200',
      '-volume.preStopSeconds=0',
      '-master.telemetry=false',
    ],
    readyLine: 'Start Seaweed S3 API Server',
  })
  const endpoint = `http://127.0.0.1:${port}`
  // The first write takes seconds, because it creates the volumes. It is here so that no test has to wait for it.
  for (const path of ['/first', '/first/object']) await signedPut(endpoint, path, credentials)
  let buckets = 0
  return {
    ...server,
    port,
    endpoint,
    credentials,
    async createBucket() {
      const name = `tests-${process.pid}-${++buckets}`
      await signedPut(endpoint, `/${name}`, credentials)
      return name
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function identity({ accessKeyId, secretAccessKey }: SeaweedFs['credentials']) {
  return {
    name: 'tests',
    credentials: [{ accessKey: accessKeyId, secretKey: secretAccessKey }],
    actions: ['Admin', 'Read', 'Write', 'List', 'Tagging'],
  }
}

async function signedPut(endpoint: string, path: string, credentials: SeaweedFs['credentials']): Promise<void> {
  const request = { method: 'PUT', host: new URL(endpoint).host, path, query: {}, headers: {} }
  const { host: _, ...headers } = createSigner(REGION).sign(request, EMPTY_HASH, credentials, Date.now())
  const response = await fetch(endpoint + path, { method: 'PUT', headers })
  if (!response.ok) throw new Error(`SeaweedFS refused ${path}: ${await response.text()}`)
}
