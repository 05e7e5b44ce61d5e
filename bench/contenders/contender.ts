/** What every server under test offers to the process it runs in. */
import type { DurableOptions } from './durable.ts'
import type { Mix } from './policies.ts'

export interface ContenderOptions {
  /** How arguments and results are validated: plain JSON Schema by ajv, or zod. */
  validator?: 'ajv' | 'zod'
  /** Which envelope the bare server works with; OpenCALL's unless given. */
  envelope?: 'opencall' | 'oxp' | 'rest' | 'mcp'
  /** Whether callers must show a token, and every request is logged. */
  guarded?: boolean
  /** Whether a guarded one has a line in its log for each execution besides that for the request; it has unless told. */
  executionLog?: boolean
  /** Where a server that stores things stores them. */
  data?: string
  /** How many operations are registered besides the ones that are called. */
  operations?: number
  /** The length of the chunked result. */
  chunkedBytes?: number
  /** The length of the answer of a server that always gives the same one. */
  answerBytes?: number
  /** Where the called operation runs, if not in a function. */
  backend?: 'http' | 'external' | 'wasm'
  /** Where the remote tool listens. */
  toolPort?: number
  /** By node:http alone, without our client. */
  bare?: boolean
  /** How many rules the policy has; no policy unless given. */
  rules?: number
  mix?: Mix
  /** Which system of durable work. */
  durable?: DurableOptions
}

export interface Serving {
  port: number
  /** Work that is asked for inside the process, without HTTP. */
  work?(given: unknown): Promise<unknown>
  close(): Promise<void>
}

export type Contender = (options: ContenderOptions) => Promise<Serving>

/** The name of one operation of those `operations` counts. */
export function manyName(index: number): string {
  return `v1:many.operation${index}`
}
