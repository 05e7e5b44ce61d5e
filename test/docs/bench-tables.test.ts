/** The figures in the pages come from bench/results.json; none is written by hand. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Results } from '../../bench/results.ts'
import { fillTables } from '../../bench/tables.ts'

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')

const MACHINE = { cpu: 'Chip', cores: 2, memoryGb: 4, node: 'v24.0.0', platform: 'linux x64' }

test('the tables of measured figures are those that results.json gives', () => {
  const results = JSON.parse(read('bench/results.json')) as Results

  for (const [name, mark] of [
    ['docs/performance.md', 'sync'],
    ['docs/scale.md', 'scale_costs'],
  ]) {
    const page = read(name as string)
    expect(page).toContain(`<!-- bench:${mark} -->`)
    expect(fillTables(page, results)).toBe(page)
  }
})

test('a table has the figures, their intervals, the day and the machine', () => {
  const limit = { suite: 'sync', contender: 'bare', cpuUs: 20, relative: 1, limit: 'bare' }
  const ours = { ...limit, contender: 'ours', cpuUs: 25, relative: 0.8, interval: { low: 0.79, high: 0.81 } }
  const results: Results = {
    versions: {},
    runs: { sync: { date: '2026-01-02', machine: MACHINE } },
    rows: [limit, ours],
    goals: [{ suite: 'sync', name: 'a call', goal: 'at least 0.85', measured: '0.80 (0.79 to 0.81)', met: false }],
  }

  const page = fillTables('before\n<!-- bench:sync -->\nold\n<!-- /bench:sync -->\nafter', results)

  expect(page).toContain('Measured on 2026-01-02 on 2 × Chip with Node v24.0.0.')
  expect(page).toContain('| `ours` | 25.0 µs | 0.80 | 0.79 to 0.81 | `bare` |')
  expect(page).toContain('| a call: at least 0.85 | 0.80 (0.79 to 0.81) | not met |')
  expect(page).not.toContain('old')
  expect(fillTables(page, results)).toBe(page)
})

test('a part of a suite has its own table, with a column for each figure and the build of its engine', () => {
  const row = {
    suite: 'postgres paced',
    contender: 'ours',
    engine: 'Postgres 15 (Debian, -O2)',
    figures: { 'p99 ms': 4 },
  }
  const results: Results = {
    versions: {},
    runs: {
      postgres: { date: '2026-01-02', machine: { ...MACHINE, cpu: 'Other' } },
      'postgres/paced': { date: '2026-01-03', machine: MACHINE },
    },
    rows: [row],
    goals: [],
  }
  const marked = (name: string) => `<!-- bench:${name} -->\n<!-- /bench:${name} -->`

  const page = fillTables(marked('postgres_paced'), results)

  expect(page).toContain('Measured on 2026-01-03 on 2 × Chip with Node v24.0.0, Postgres 15 (Debian, -O2).')
  expect(page).toContain('|  | p99 ms |\n| --- | --- |\n| ours | 4 |')
  expect(fillTables(marked('postgres_rates'), results)).toContain('`npm run bench -- postgres/rates`')
  expect(fillTables(marked('scale_cell'), results)).toContain('`npm run bench -- scale`')
})
