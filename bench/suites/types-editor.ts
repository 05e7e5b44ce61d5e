/**
 * What an editor's questions cost the language server in a program that calls 500 operations: the first one after an edit,
 * which makes it check the program anew, and the next ones.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { alternate } from '../rounds.ts'
import { summarise } from '../statistics.ts'
import { TSSERVER } from '../types/compile.ts'
import { Editor, placeAfter } from '../types/editor.ts'
import { NAMESPACE } from '../types/programs.ts'
import type { Findings, Goal, Row, Settings } from './suite.ts'
import type { Subject } from './types.ts'

const SUITE = 'types editor'
/** People take this for an immediate response. */
const INSTANT_MS = 100
/** The kernel counts CPU time in hundredths of a second, so one question says too little. */
const QUESTIONS = 10

/** Version 7 has another language server. */
const VERSION = (createRequire(TSSERVER)('typescript/package.json') as { version: string }).version

const WAYS = ['completion of api.', `completion of api.${NAMESPACE}.`, 'quick info on a call'] as const

interface Sample {
  /** Of the first question after an edit. */
  editedMs: number
  /** Of each of the next ones. */
  cpuMs: number
}

export async function measureEditor(
  subjects: readonly Subject[],
  programs: string,
  { quick, trial, say }: Settings,
): Promise<Findings> {
  const editors = subjects.map(({ system }) => new Editor(join(programs, system, 'calls.ts')))
  try {
    const asks = subjects.map(({ system }, at) =>
      questionsOf(editors[at] as Editor, join(programs, system, 'calls.ts')),
    )
    // The first question loads the program, and the next ones let the compiler optimise the server.
    for (const own of asks) for (const ask of own) for (let n = 0; n < (trial ? 1 : 3); n++) await ask()
    const rounds = trial ? 1 : quick ? 3 : 15
    say(`types: ${rounds} rounds of an editor's questions, one after an edit and ${QUESTIONS} more`)
    const samples = await alternate(subjects.length * WAYS.length, rounds, (index) => {
      const at = Math.floor(index / WAYS.length)
      return measure(editors[at] as Editor, asks[at]?.[index % WAYS.length] as () => Promise<void>)
    })
    const rows = subjects.flatMap(({ name }, at) =>
      WAYS.map((way, index) => rowOf(`${name}, ${way}`, samples[at * WAYS.length + index] ?? [])),
    )
    return { rows, goals: WAYS.map((way, index) => goalOf(way, rows[index] as Row)) }
  } finally {
    await Promise.all(editors.map((editor) => editor.close()))
  }
}

/** Each checks what it is told. */
function questionsOf(editor: Editor, file: string): (() => Promise<void>)[] {
  const content = readFileSync(file, 'utf8')
  const completes = (text: string, wanted: string) => async () => {
    const names = await editor.complete(placeAfter(content, text))
    if (!names.includes(wanted)) throw new Error(`${file}: the completion of ${text} has no ${wanted}: ${names}`)
  }
  return [
    completes('await api.', NAMESPACE),
    completes(`await api.${NAMESPACE}.`, 'do0'),
    async () => {
      const told = await editor.explain(placeAfter(content, `await api.${NAMESPACE}.d`))
      if (!told.includes('do0')) throw new Error(`${file}: the quick info is ${told}`)
    },
  ]
}

async function measure(editor: Editor, ask: () => Promise<void>): Promise<Sample> {
  const before = editor.cpuMs()
  editor.edit()
  await ask()
  const edited = editor.cpuMs()
  for (let question = 0; question < QUESTIONS; question++) await ask()
  return { editedMs: edited - before, cpuMs: (editor.cpuMs() - edited) / QUESTIONS }
}

function rowOf(contender: string, samples: readonly Sample[]): Row {
  return {
    suite: SUITE,
    contender,
    engine: `TypeScript ${VERSION}`,
    figures: {
      'ms of CPU': summarise(samples.map(({ cpuMs }) => cpuMs)).median,
      'ms of CPU after an edit': summarise(samples.map(({ editedMs }) => editedMs)).median,
    },
  }
}

function goalOf(way: string, { figures = {} }: Row): Goal {
  const cpuMs = figures['ms of CPU'] ?? Number.NaN
  return {
    suite: SUITE,
    name: `${way} with 500 operations`,
    goal: `at most ${INSTANT_MS} ms of CPU`,
    measured: `${cpuMs.toFixed(0)} ms`,
    met: cpuMs <= INSTANT_MS,
  }
}
