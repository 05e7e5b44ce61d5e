/** Jobs per second at 64 and 256 submitters: by hand, Callplane, and the other systems, round by round. */

import { rateGoals } from './postgres-goals.ts'
import { type PostgresSample, requireStored, rowOf, runJobs, type Series } from './postgres-samples.ts'
import { LIMIT, type RunningSubject, startSubjects, stopSubjects } from './postgres-systems.ts'
import type { Findings, Settings } from './suite.ts'

const SUITE = 'postgres rates'
const SUBMITTERS = [64, 256] as const

export async function rates(settings: Settings): Promise<Findings> {
  const { quick, trial, say } = settings
  const rounds = trial ? 1 : quick ? 4 : 17
  const share = trial ? 0.05 : quick ? 0.5 : 1
  const subjects = await startSubjects(settings)
  const findings: Findings = { rows: [], goals: [] }
  try {
    for (const submitters of SUBMITTERS) {
      say(`postgres: ${rounds} rounds of ${subjects.length} systems, ${submitters} submitters`)
      const samples = await runRounds(subjects, submitters, rounds, share)
      const limit = { name: `${LIMIT}, ${submitters}`, series: samples.get(LIMIT) ?? [] }
      for (const { name, build } of subjects)
        findings.rows.push(rowOf(SUITE, `${name}, ${submitters}`, build, samples.get(name) ?? [], limit))
      findings.goals.push(...rateGoals(SUITE, submitters, samples))
    }
    for (const { name, host } of subjects) await requireStored(name, host)
    return findings
  } finally {
    await stopSubjects(subjects)
  }
}

async function runRounds(
  subjects: readonly RunningSubject[],
  submitters: number,
  rounds: number,
  share: number,
): Promise<ReadonlyMap<string, Series>> {
  const run = ({ host, engine, jobsEach, ahead = false }: RunningSubject, times = 1) =>
    runJobs([host], engine, { jobs: Math.ceil(jobsEach * submitters * share * times), submitters, ahead })
  for (const subject of subjects) await run(subject, subject.every === 1 ? 3 : 1)
  const samples = new Map(subjects.map(({ name }) => [name, [] as (PostgresSample | undefined)[]]))
  for (let round = 0; round < rounds; round++) {
    // Every second round runs backwards, so that no system always follows the same neighbour.
    for (const subject of round % 2 === 0 ? subjects : subjects.toReversed())
      samples.get(subject.name)?.push(round % subject.every === 0 ? await run(subject) : undefined)
  }
  return samples
}
