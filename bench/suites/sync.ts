/** A sync call of `v1:Calculator.Add` through every protocol, beside bare servers and other people's frameworks. */
import { join } from 'node:path'
import { keepInstalled } from '../installed.ts'
import { type Host, startHost, startLoad } from '../processes.ts'
import { ratios, runRounds, type Sample } from '../rounds.ts'
import { type Asked, sameReplies } from '../same-replies.ts'
import { relativeOf, summarise } from '../statistics.ts'
import type { Row, Suite } from './suite.ts'
import { syncGoals } from './sync-goals.ts'
import { SUBJECTS, type Subject } from './sync-subjects.ts'

const CONNECTIONS = 32

export const sync: Suite = async ({ quick, trial, folder, say }) => {
  const subjects = keepInstalled(
    SUBJECTS.filter(({ main }) => main || trial || !quick),
    say,
  )
  const load = startLoad()
  const hosts: Host[] = []
  try {
    for (const [index, { name, options }] of subjects.entries()) {
      const data = join(folder, `sync-${index}`)
      hosts.push(await startHost(name, { ...options, data }, `${data}.log`))
    }
    await sameReplies(askedOf(subjects, hosts))
    const rounds = trial ? 1 : quick ? 15 : 41
    say(`sync: ${rounds} rounds of ${subjects.length} servers, ${CONNECTIONS} connections`)
    const samples = await runRounds(load, hosts, {
      rounds,
      warmUpCalls: trial ? 0 : quick ? 15_000 : 50_000,
      warmUpMs: quick ? 600 : 3_000,
      // Short windows and many of them: what disturbs one server then disturbs its neighbour in the round as well.
      durationMs: quick ? 70 : 300,
      connections: CONNECTIONS,
      trafficOf: (host) => (subjects[hosts.indexOf(host)] as Subject).wire,
    })
    const samplesOf = (name: string) => samples[subjects.findIndex((subject) => subject.name === name)]
    return {
      rows: subjects.map(({ name, limit }) => rowOf(name, limit, samplesOf)),
      goals: syncGoals(samplesOf),
    }
  } finally {
    await Promise.all([load, ...hosts].map((process) => process.stop()))
  }
}

function askedOf(subjects: readonly Subject[], hosts: readonly Host[]): Asked[] {
  const asked = subjects.map(({ wire }, index): Asked => ({ host: hosts[index] as Host, wire, like: undefined }))
  return asked.map((one, index) => {
    const { name, limit } = subjects[index] as Subject
    return { ...one, like: name === limit ? undefined : asked[subjects.findIndex((subject) => subject.name === limit)] }
  })
}

function rowOf(name: string, limit: string, samplesOf: (name: string) => Sample[] | undefined): Row {
  const own = samplesOf(name) ?? []
  const figures = { 'best µs': Math.min(...own.map(({ cpuUs }) => cpuUs)) }
  const plain = summarise(ratios(own, samplesOf('node:http') ?? [])).median
  return {
    suite: 'sync',
    contender: name,
    cpuUs: summarise(own.map(({ cpuUs }) => cpuUs)).median,
    perSecond: summarise(own.map(({ perSecond }) => perSecond)).median,
    ...relativeOf(ratios(own, samplesOf(limit) ?? [])),
    limit,
    figures: { ...figures, ...(limit !== 'node:http' && { 'of plain node:http': plain }) },
  }
}
