/** The interface of every server under test to the process that it runs in. */
import type { BrokerPlace } from './brokers.ts'
import type { DurableOptions } from './durable.ts'
import type { Mix } from './policies.ts'
import type { NodeOptions } from './postgres-node.ts'

export interface ContenderOptions {
  /** How arguments and results are validated: JSON Schema by ajv, or zod. */
  validator?: 'ajv' | 'zod'
  /** The envelope of the bare server. Default: OpenCALL's. */
  envelope?: 'opencall' | 'oxp' | 'rest' | 'mcp'
  /** True if callers must send a token and every request is logged. */
  guarded?: boolean
  /** True if a guarded server also logs a line for each execution. Default: true. */
  executionLog?: boolean
  /** Folder for the data of a server that stores data. */
  data?: string
  /** Number of operations registered in addition to the ones that are called. */
  operations?: number
  /** Length of the chunked result. */
  chunkedBytes?: number
  /** Length of the response of a server that always sends the same one. */
  answerBytes?: number
  /** Where the called operation runs. Default: in a function. */
  backend?: 'http' | 'external' | 'wasm'
  /** Port of the remote tool. */
  toolPort?: number
  /** Port of the server that a client calls. */
  serverPort?: number
  /** True to call the tool with node:http alone, without our client; of our own clients, the small one. */
  bare?: boolean
  /** Number of rules in the policy. Default: no policy. */
  rules?: number
  mix?: Mix
  /** The certificate of a server over QUIC. Callplane then serves QUIC, and its port is that of QUIC. */
  tls?: TlsFiles
  /** How many frames the bare server puts into one write. */
  framesAWrite?: number
  /** The durable job system to start. */
  durable?: DurableOptions
  /** Callplane as one of several nodes on a Postgres database. */
  node?: NodeOptions
  /** The broker that calls arrive from. */
  broker?: BrokerPlace
}

export interface TlsFiles {
  cert: string
  key: string
}

export function requireTls(tls: TlsFiles | undefined): TlsFiles {
  if (!tls) throw new Error('Give a contender over QUIC a certificate.')
  return tls
}

export interface Serving {
  port: number
  /** Runs work inside the process, without HTTP. */
  work?(given: unknown): Promise<unknown>
  close(): Promise<void>
}

export type Contender = (options: ContenderOptions) => Promise<Serving>

/** Name of one of the operations that `operations` adds. */
export function manyName(index: number): string {
  return `v1:many.operation${index}`
}
