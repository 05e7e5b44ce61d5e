/** The filter of calls on a command line: its text, as the console has it, and flags for its common terms. */
import { CALL_FILTER_KEYS, type CallFilterArgs, readCallFilter } from '../../core/filter/call-filter.ts'
import { termText } from '../../core/filter/terms.ts'
import { usageFault } from '../command.ts'
import { plainLine } from '../terminal/text.ts'

export const FILTER_OPTIONS = {
  state: { type: 'string' },
  operation: { type: 'string' },
  owner: { type: 'string' },
  code: { type: 'string' },
  since: { type: 'string' },
  until: { type: 'string' },
} as const

type Flag = keyof typeof FILTER_OPTIONS
export type FilterFlags = Partial<Record<Flag, string>>

export const FILTER_HELP = `  --state <states>       accepted, pending, streaming, complete, error; several with commas.
  --operation <name>     This operation, or with * at the end all that begin like it: v1:orders.*
  --owner <owner>        The caller: issuer and subject, such as "callplane|agent".
  --code <code>          The code that the call ended with.
  --since <time>         Made since then: an age such as 1h or 7d, or ISO 8601.
  --until <time>         Made before then.`

export const GRAMMAR_HELP = `A filter is the text that the console has: state:error op:v1:orders.* since:1h "acme". Its terms are
${CALL_FILTER_KEYS.map((key) => `${key}:`).join(' ')}
and is:held. Other words are searched in arguments and results, which needs the scope callplane:payloads. Put the filter
in single quotes, so that the shell leaves it as it is.`

const TERM_OF: Readonly<Record<Flag, string>> = {
  state: 'state',
  operation: 'op',
  owner: 'owner',
  code: 'code',
  since: 'since',
  until: 'until',
}

/** A flag replaces the term in the text. */
export function filterOf(text: string, flags: FilterFlags, now: number): CallFilterArgs {
  const terms = Object.entries(TERM_OF).flatMap(([flag, key]) => {
    const value = flags[flag as Flag]
    return value === undefined ? [] : [termText(key, value)]
  })
  // Read apart: a quote that is not closed in the text would take the flags with it.
  const [typed, flagged] = [readCallFilter(text, now), readCallFilter(terms.join(' '), now)]
  const [unknown] = [...typed.unknown, ...flagged.unknown]
  if (unknown !== undefined) {
    const known = CALL_FILTER_KEYS.map((key) => `${key}:`).join(' ')
    throw usageFault(`The filter does not understand "${plainLine(unknown)}". It has: ${known}`)
  }
  return { ...typed.filter, ...flagged.filter }
}

const ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i

/** The words on the command line as one text. An id is no filter: the person meant an action, or mistyped one. */
export function filterText(words: readonly string[], actions: string): string {
  if (words.some((word) => ID.test(word))) throw usageFault(`The id of a call is no filter. Use: ${actions}`)
  return words.join(' ')
}
