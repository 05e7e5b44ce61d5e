/**
 * Servers on one Postgres database, all in the test's process, so that the test can control their handlers. They share
 * nothing but the database and the data folder.
 */
import { createServer, type ServerOptions } from 'callplane'
import { onTestFinished } from 'vitest'
import type { Postgres } from '../engines/postgres.ts'
import { callerOf, type Site, temporaryFolder } from '../scenarios/server.ts'

/** No node finds a call by looking around in the course of a test, and none loses a lease. */
export const WORK = { leaseMs: 600_000, claimEveryMs: 600_000 }

let schemas = 0

export interface NodesOptions<App> {
  options: ServerOptions<App>
  /** Options of single nodes. */
  each?: readonly Partial<ServerOptions<App>>[]
  count?: number
  /** Default: a new one. */
  schema?: string
}

const used = new Set<string>()

export function newSchema(): string {
  return `nodes_${process.pid}_${++schemas}`
}

/** The servers are closed at the end of the test, and the schema is dropped. */
export async function startNodes<App>(
  server: Postgres,
  { options, each = [], count = 2, schema = newSchema() }: NodesOptions<App>,
): Promise<Site[]> {
  const data = options.data ?? temporaryFolder()
  const sites: Site[] = []
  // The first use of a schema is finished last, when no server uses it any more.
  const isFirst = !used.has(schema)
  used.add(schema)
  onTestFinished(async () => {
    await Promise.all(sites.map((site) => site.close()))
    if (isFirst) await server.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
  })
  for (let n = 0; n < count; n++) {
    const own = { store: { url: server.url, schema }, data, ...options, ...each[n] }
    const node = await createServer<App>(own)
    const { url } = await node.listen({ port: 0 })
    let closing: Promise<void> | undefined
    const close = (graceMs = 0) => (closing ??= node.close(graceMs))
    sites.push({ server: node, data: own.data, close, ...callerOf(url) })
  }
  return sites
}
