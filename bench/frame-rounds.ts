/** Frames to readers in a process of their own: the CPU time of a frame in the server's process. */
import type { Host, Readers } from './processes.ts'
import type { ReadersOptions } from './readers/reader.ts'
import { alternate } from './rounds.ts'
import { relativeOf, summarise } from './statistics.ts'
import type { Goal, Row } from './suites/suite.ts'

export interface FrameSubject {
  name: string
  host: Host
  /** What the readers need beside the port. */
  open: Omit<ReadersOptions, 'port' | 'readers'>
}

export interface FrameSample {
  cpuUs: number
  perSecond: number
}

/** Opens readers, lets the server's code warm up, measures, and closes the readers. */
export async function measureFrames(
  { host, open }: FrameSubject,
  readers: Readers,
  count: number,
  durationMs: number,
): Promise<FrameSample> {
  await readers.open({ ...open, port: host.port, readers: count })
  await readers.read(durationMs)
  const startedAt = performance.now()
  const before = await host.cpuUs()
  const received = await readers.read(durationMs)
  const cpuUs = (await host.cpuUs()) - before
  const elapsedMs = performance.now() - startedAt
  await readers.close(count)
  if (received === 0) throw new Error(`${host.name}: no frame arrived in ${durationMs} ms.`)
  return { cpuUs: cpuUs / received, perSecond: (received * 1000) / elapsedMs }
}

export interface FrameComparison {
  suite: string
  /** The first one is the limit of the others. */
  subjects: readonly FrameSubject[]
  readers: Readers
  /** How many readers are connected to a server at the same time. */
  count: number
  rounds: number
  durationMs: number
  /** The name of a row. Default: that of its subject. */
  rowName?(name: string): string
}

export class ComparedFrames {
  readonly #comparison: FrameComparison
  readonly #samples: readonly FrameSample[][]

  static async measure(comparison: FrameComparison): Promise<ComparedFrames> {
    const { subjects, readers, count, rounds, durationMs } = comparison
    const take = (at: number) => measureFrames(subjects[at] as FrameSubject, readers, count, durationMs)
    return new ComparedFrames(comparison, await alternate(subjects.length, rounds, take))
  }

  private constructor(comparison: FrameComparison, samples: readonly FrameSample[][]) {
    this.#comparison = comparison
    this.#samples = samples
  }

  rows(): Row[] {
    const { suite, subjects, rowName = (name) => name } = this.#comparison
    return subjects.map(({ name }, at) => {
      const own = this.#samples[at] ?? []
      return {
        suite,
        contender: rowName(name),
        cpuUs: summarise(own.map(({ cpuUs }) => cpuUs)).median,
        perSecond: summarise(own.map(({ perSecond }) => perSecond)).median,
        limit: rowName(subjects[0]?.name ?? ''),
        ...this.#relative(at),
      }
    })
  }

  /** The goal of one subject: at least this part of the limit's frames per CPU second. */
  goal(subject: string, least: number): Goal {
    const { suite, subjects, rowName = (name) => name } = this.#comparison
    const { relative } = this.#relative(subjects.findIndex(({ name }) => name === subject))
    return {
      suite,
      name: rowName(subject),
      goal: `at least ${least} of the frames per CPU second of ${subjects[0]?.name}`,
      measured: relative.toFixed(2),
      met: relative >= least,
    }
  }

  #relative(at: number) {
    const [limit = []] = this.#samples
    return relativeOf((this.#samples[at] ?? []).map(({ cpuUs }, round) => (limit[round] as FrameSample).cpuUs / cpuUs))
  }
}
