/** The names of the Postgres suites, apart from their code: writing tables needs none of the benchmark's packages. */
const PARTS = ['rates', 'shapes', 'paced', 'nodes', 'stored', 'expiry'] as const

export type PostgresPart = (typeof PARTS)[number]

export function isPostgresPart(name: string): name is PostgresPart {
  return PARTS.some((part) => part === name)
}
