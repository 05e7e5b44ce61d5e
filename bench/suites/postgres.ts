/** Callplane on Postgres. Each part can be run alone: `npm run bench -- postgres/rates`. */
import type { PostgresPart } from './postgres-parts.ts'
import type { Findings, Settings, Suite } from './suite.ts'

/** Loaded on demand, as in run.ts. */
export const POSTGRES_SUITES: Readonly<Record<PostgresPart, () => Promise<Suite>>> = {
  rates: async () => (await import('./postgres-rates.ts')).rates,
  shapes: async () => (await import('./postgres-shapes.ts')).shapes,
  paced: async () => (await import('./postgres-paced.ts')).paced,
  nodes: async () => (await import('./postgres-nodes.ts')).nodes,
  stored: async () => (await import('./postgres-stored.ts')).stored,
  expiry: async () => (await import('./postgres-expiry.ts')).expiry,
}

export async function postgres(settings: Settings): Promise<Findings> {
  const all: Findings = { rows: [], goals: [] }
  for (const load of Object.values(POSTGRES_SUITES)) {
    const { rows, goals } = await (await load())(settings)
    all.rows.push(...rows)
    all.goals.push(...goals)
  }
  return all
}
