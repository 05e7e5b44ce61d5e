/** Builds the states of a pattern: states that take a character, states that branch, and states that accept. */
import { type CharSet, type Node, Unreadable } from './syntax.ts'

export type State =
  | { kind: 'char'; set: CharSet; next: number }
  | { kind: 'split'; next: readonly number[] }
  | { kind: 'start' | 'end'; next: number }
  | { kind: 'accept' }

export interface Automaton {
  readonly states: readonly State[]
  readonly first: number
}

export interface BuildOptions {
  /** How lookarounds and word boundaries are handled: ignored (the pattern then matches more), or refused. */
  conditions: 'ignored' | 'refused'
  maxStates: number
  /** Repeats with a higher maximum count as endless. For analyses in which that is the safe side. */
  endlessAbove?: number
}

/** Builds from the end to the front, so that each state knows its successor. */
export function buildAutomaton(tree: Node, options: BuildOptions): Automaton {
  const { conditions, maxStates, endlessAbove = Number.POSITIVE_INFINITY } = options
  const states: State[] = [{ kind: 'accept' }]

  function add(state: State): number {
    if (states.length >= maxStates) throw new Unreadable('too many states')
    return states.push(state) - 1
  }

  function build(node: Node, next: number): number {
    switch (node.kind) {
      case 'set':
        return add({ kind: 'char', set: node.set, next })
      case 'sequence':
        return node.parts.reduceRight((after, part) => build(part, after), next)
      case 'choice':
        return add({ kind: 'split', next: node.options.map((option) => build(option, next)) })
      case 'start':
      case 'end':
        return add({ kind: node.kind, next })
      case 'repeat':
        return repeat(node, next)
      case 'boundary':
      case 'look':
        if (conditions === 'ignored') return next
        throw new Unreadable('look-around')
      case 'backreference':
        throw new Unreadable('a backreference')
    }
  }

  function repeat({ body, min, max }: Extract<Node, { kind: 'repeat' }>, next: number): number {
    const endless = max === Number.POSITIVE_INFINITY || (max > min && max > endlessAbove)
    if ((endless ? min : max) > maxStates) throw new Unreadable('too many states')
    let at = next
    if (endless) {
      at = add({ kind: 'split', next: [] })
      states[at] = { kind: 'split', next: [build(body, at), next] }
    } else {
      // Nested instead of in a row: skipping one optional part leads to the end, which keeps the number of ways small.
      for (let optional = min; optional < max; optional++) at = add({ kind: 'split', next: [build(body, at), next] })
    }
    for (let required = 0; required < min; required++) at = build(body, at)
    return at
  }

  const first = build(tree, 0)
  return { states, first }
}
