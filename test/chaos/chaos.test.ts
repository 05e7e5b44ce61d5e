/** A short chaos run, with one fault of most kinds. `npm run chaos` is the long one. */
import { rm } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { describeWith, postgresServer, s3Server, together } from '../engines/engines.ts'
import { runChaos } from './chaos.ts'
import type { FaultName } from './faults.ts'

const FAULTS: readonly FaultName[] = [
  'kill a node',
  'fail requests to S3',
  'lose answers of the database',
  'kill the database',
  'set the clock of a node wrong',
  'pause a node beyond its lease',
  'cut the connections of a node',
  'fail over to the standby',
  'kill a node',
]

describeWith(together(postgresServer, s3Server), 'chaos', () => {
  test('nodes, network, database and objects fail under load: nothing is lost, doubled, regressed or shown to others', {
    timeout: 240_000,
  }, async () => {
    const plan = FAULTS.map((name, n) => ({ name, atMs: 1_000 + n * 1_400, node: n, size: 0.3, sign: 1 as const }))

    const report = await runChaos({
      minutes: 0.22,
      faults: plan.length,
      plan,
      seed: 1,
      nodes: 2,
      perSecond: 20,
      withBrokers: false,
      quietMs: 2_000,
      say: () => {},
    })

    expect(report.findings, `evidence in ${report.folder}`).toEqual([])
    expect(report).toMatchObject({ kills: 4, failovers: 1 })
    expect(report.repeatedAttempts).toBeGreaterThan(0)
    await rm(report.folder, { recursive: true, force: true })
  })
})
