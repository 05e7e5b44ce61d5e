/**
 * Calls over MQTT and Kafka, each beside a bare client of the same library at the same broker. The operation without
 * side effects has a goal. The one with side effects is written to SQLite on both sides.
 */
import { type BrokerKind, type BrokerSample, IN_FLIGHT, startBrokers } from '../brokers.ts'
import { ADD } from '../contenders/add-schemas.ts'
import { BOOK } from '../contenders/brokers.ts'
import type { Host } from '../processes.ts'
import { relativeOf, summarise } from '../statistics.ts'
import type { Goal, Row, Suite } from './suite.ts'

const OF_LIMIT = 0.8

interface Subject {
  name: string
  host: Host
  operation: string
  /** Index of the subject that it is compared with. */
  limit: number
}

export const mqtt: Suite = brokerSuite('mqtt')
export const kafka: Suite = brokerSuite('kafka')

function brokerSuite(kind: BrokerKind): Suite {
  return async ({ quick, trial, folder, say }) => {
    const brokers = await startBrokers(kind, folder)
    const { bare, callplane } = brokers
    const subjects: Subject[] = [
      { name: 'bare client', host: bare, operation: ADD, limit: 0 },
      { name: 'callplane', host: callplane, operation: ADD, limit: 0 },
      { name: 'bare client with SQLite', host: bare, operation: BOOK, limit: 2 },
      { name: 'callplane with side effects', host: callplane, operation: BOOK, limit: 2 },
    ]
    const sample = ({ host, operation }: Subject, ms: number) => brokers.sample(host, operation, ms)
    const rounds = trial ? 1 : quick ? 5 : 21
    const durationMs = trial ? 50 : quick ? 300 : 1_000
    const warmUpMs = trial ? 0 : quick ? 1_500 : 5_000
    try {
      say(`${kind}: ${rounds} rounds of ${durationMs} ms, ${IN_FLIGHT[kind]} calls at a time`)
      if (warmUpMs > 0) for (const subject of subjects) await sample(subject, warmUpMs)
      const samples: BrokerSample[][] = subjects.map(() => [])
      for (let round = 0; round < rounds; round++) {
        for (let turn = 0; turn < subjects.length; turn++) {
          const at = (round + turn) % subjects.length
          samples[at]?.push(await sample(subjects[at] as Subject, durationMs))
        }
      }
      const [limit = [], ours = []] = samples
      return {
        rows: subjects.map((subject, at) => rowOf(kind, subject, subjects, samples, at)),
        goals: [goalOf(kind, ours, limit)],
      }
    } finally {
      await brokers.stop()
    }
  }
}

/** Calls per CPU second over those of the limit, round by round. */
function ratiosOf(own: readonly BrokerSample[], limit: readonly BrokerSample[]): number[] {
  return own.map(({ cpuUs }, round) => (limit[round] as BrokerSample).cpuUs / cpuUs)
}

function rowOf(
  suite: string,
  { name, limit }: Subject,
  subjects: readonly Subject[],
  samples: readonly BrokerSample[][],
  at: number,
): Row {
  const own = samples[at] ?? []
  return {
    suite,
    contender: name,
    cpuUs: summarise(own.map(({ cpuUs }) => cpuUs)).median,
    perSecond: summarise(own.map(({ perSecond }) => perSecond)).median,
    limit: subjects[limit]?.name ?? '',
    ...relativeOf(ratiosOf(own, samples[limit] ?? [])),
  }
}

function goalOf(suite: string, own: readonly BrokerSample[], limit: readonly BrokerSample[]): Goal {
  const { relative } = relativeOf(ratiosOf(own, limit))
  return {
    suite,
    name: 'a call without side effects',
    goal: `at least ${OF_LIMIT} of the calls per CPU second of a bare client that only echoes`,
    measured: relative.toFixed(2),
    met: relative >= OF_LIMIT,
  }
}
