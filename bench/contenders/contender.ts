/** What every server under test offers to the process it runs in. */
import type { Mix } from './policies.ts'

export interface ContenderOptions {
  /** How arguments and results are validated: plain JSON Schema by ajv, or zod. */
  validator?: 'ajv' | 'zod'
  /** Where a server that stores things stores them. */
  data?: string
  /** How many operations are registered besides the ones that are called. */
  operations?: number
  /** The length of the chunked result. */
  chunkedBytes?: number
  /** Where the called operation runs, if not in a function. */
  backend?: 'http' | 'external' | 'wasm'
  /** Where the remote tool listens. */
  toolPort?: number
  /** By node:http alone, without our client. */
  bare?: boolean
  /** How many rules the policy has; no policy unless given. */
  rules?: number
  mix?: Mix
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
