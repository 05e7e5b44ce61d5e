/** What the types of a client cost: type-checking a program that calls 500 operations, and an editor's questions. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { keepInstalled } from '../installed.ts'
import { alternate } from '../rounds.ts'
import { relativeOf, summarise } from '../statistics.ts'
import { COMPILERS, type Compiled, compile, preparePackages, writeProgram } from '../types/compile.ts'
import { createProgram, type SystemName } from '../types/programs.ts'
import type { Goal, Row, Suite } from './suite.ts'
import { measureEditor } from './types-editor.ts'

const SUITE = 'types'
/** Of tRPC's. */
const AT_MOST = 1.5
const SHAPE = { namespaces: 50, operations: 10 }

export interface Subject {
  name: string
  system: SystemName
  needs: readonly string[]
}

const OURS: Subject = { name: 'callplane', system: 'callplane', needs: ['zod'] }
const SUBJECTS: readonly Subject[] = [
  OURS,
  { name: 'tRPC', system: 'trpc', needs: ['@trpc/client', '@trpc/server', 'zod'] },
  { name: 'oRPC', system: 'orpc', needs: ['@orpc/client', '@orpc/server', 'zod'] },
]

export const types: Suite = async (settings) => {
  const { quick, trial, folder, say } = settings
  const subjects = keepInstalled(SUBJECTS, say)
  const programs = join(folder, 'types')
  await preparePackages(programs)
  const shape = trial ? { namespaces: 2, operations: 2 } : SHAPE
  const projects = subjects.map(({ system }) => writeProgram(join(programs, system), createProgram(system, shape)))
  const rows: Row[] = []
  const goals: Goal[] = []
  for (const [version, compiler] of Object.entries(COMPILERS)) {
    if (!existsSync(compiler)) {
      say(`skipped: ${version} ("npm ci --prefix bench" installs it)`)
      continue
    }
    const rounds = trial ? 1 : quick ? 3 : 15
    say(`types: ${rounds} rounds of ${subjects.length} programs with ${version}`)
    const samples = await alternate(subjects.length, rounds, (at) => compile(compiler, projects[at] as string))
    rows.push(...subjects.map((subject, at) => rowOf(subject, version, samples[at] ?? [], samples[0] ?? [])))
    goals.push(...goalsOf(subjects, version, samples))
  }
  const editor = await measureEditor(subjects, programs, settings)
  return { rows: [...rows, ...editor.rows], goals: [...goals, ...editor.goals] }
}

function rowOf({ name }: Subject, version: string, own: readonly Compiled[], ours: readonly Compiled[]): Row {
  const { instantiations = 0, memoryMb = 0 } = own[0] ?? {}
  return {
    suite: SUITE,
    contender: `${name}, ${version}`,
    limit: `${OURS.name}, ${version}`,
    ...relativeOf(timesOf(ours, own)),
    figures: {
      's of CPU': summarise(own.map(({ cpuMs }) => cpuMs / 1_000)).median,
      instantiations,
      'MB of memory': memoryMb,
    },
  }
}

function goalsOf(subjects: readonly Subject[], version: string, samples: readonly Compiled[][]): Goal[] {
  return subjects.flatMap(({ system, name }, at) => {
    if (system === 'callplane') return []
    const { relative, spread } = relativeOf(timesOf(samples[0] ?? [], samples[at] ?? []))
    return {
      suite: SUITE,
      name: `type-checking 500 operations with ${version} beside ${name}`,
      goal: system === 'trpc' ? `at most ${AT_MOST} times its CPU time` : 'less CPU time',
      measured: `${relative.toFixed(2)} (middle half ${spread.low.toFixed(2)} to ${spread.high.toFixed(2)})`,
      met: system === 'trpc' ? relative <= AT_MOST : relative < 1,
    }
  })
}

/** The CPU time of the first over that of the second, round by round. */
function timesOf(first: readonly Compiled[], second: readonly Compiled[]): number[] {
  return first.map(({ cpuMs }, round) => cpuMs / (second[round] as Compiled).cpuMs)
}
