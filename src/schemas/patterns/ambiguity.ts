/**
 * Determines from a pattern how the time of JavaScript's regular expression engine grows with the text. That engine
 * tries one way after the other, so a text takes as many steps as there are ways to match it (Weber and Seidl, "On the
 * degree of ambiguity of finite automata"). If the analysis cannot decide, the result is `unsafe`.
 */
import { type Automaton, buildAutomaton } from './automaton.ts'
import { type Components, findComponents } from './components.ts'
import { ANY, type CharSet, type Node, parsePattern, Unreadable } from './syntax.ts'

export type Growth = 'linear' | 'quadratic' | 'unsafe'

const MAX_STATES = 1_500
/** The maximum number of ways to match a text without loops, by alternatives and optional parts. */
const MAX_WAYS = 10_000
/** A part that may repeat more often counts as a loop, because its ways multiply in the same way. */
const ENDLESS_ABOVE = 8
const MAX_POSITIONS = 1_000
/** With loops, pairs of positions are compared, so fewer positions are allowed. */
const MAX_WITH_LOOPS = 300
/** For the whole analysis, which then takes some tens of milliseconds. */
const MAX_STEPS = 1_000_000

export interface PatternFlags {
  /** True if the flags are unknown: letters then match both cases, and a dot matches every character. */
  anyFlags?: boolean
}

export function growthOf(source: string, { anyFlags = false }: PatternFlags = {}): Growth {
  try {
    const degree = degreeOf(parsePattern(source), true, anyFlags, { left: MAX_STEPS })
    return degree <= 1 ? 'linear' : degree === 2 ? 'quadratic' : 'unsafe'
  } catch (thrown) {
    if (thrown instanceof Unreadable) return 'unsafe'
    throw thrown
  }
}

/**
 * Returns the exponent of the text's length in the number of steps. Infinity if the steps double with each character.
 */
function degreeOf(tree: Node, searches: boolean, anyFlags: boolean, steps: { left: number }): number {
  const automaton = buildAutomaton(tree, {
    conditions: 'ignored',
    maxStates: MAX_STATES,
    endlessAbove: ENDLESS_ABOVE,
  })
  const own = new Ambiguity(positionsOf(automaton, searches, steps), anyFlags, steps).degree()
  // A lookaround at the very start is evaluated once. Anywhere else it may be evaluated wherever a loop stops.
  const inside = looksIn(tree, true).map(({ body, once }) => {
    const degree = hasLoop(body) ? degreeOf(body, false, anyFlags, steps) : 0
    return once ? degree : own + degree
  })
  return Math.max(own, ...inside)
}

function looksIn(node: Node, once: boolean): { body: Node; once: boolean }[] {
  switch (node.kind) {
    case 'look':
      return [{ body: node.body, once }]
    case 'sequence': {
      let first = once
      return node.parts.flatMap((part) => {
        const found = looksIn(part, first)
        first &&= part.kind === 'look' || part.kind === 'start'
        return found
      })
    }
    case 'choice':
      return node.options.flatMap((option) => looksIn(option, once))
    case 'repeat':
      return looksIn(node.body, false)
    default:
      return []
  }
}

function hasLoop(node: Node): boolean {
  switch (node.kind) {
    case 'repeat':
      return node.max > ENDLESS_ABOVE || hasLoop(node.body)
    case 'sequence':
      return node.parts.some(hasLoop)
    case 'choice':
      return node.options.some(hasLoop)
    case 'look':
      return hasLoop(node.body)
    default:
      return false
  }
}

/** A place that takes a character, with the places that can take the next one and the number of ways to each. */
interface Position {
  readonly set: CharSet
  readonly next: ReadonlyMap<number, number>
}

/**
 * Position 0 stands for the characters that a search skips before a match. It leads nowhere if the pattern matches only
 * at the start.
 */
function positionsOf({ states, first }: Automaton, searches: boolean, steps: { left: number }): Position[] {
  const chars = states.flatMap((state, at) => (state.kind === 'char' ? [at] : []))
  if (chars.length > MAX_POSITIONS) throw new Unreadable('too many states')
  const indexOf = new Map(chars.map((at, index) => [at, index + 1]))

  const reach = (from: number, atStart: boolean): Map<number, number> => {
    const ways = new Map<number, number>()
    const path: number[] = []
    const walk = (at: number): void => {
      if (--steps.left < 0) throw new Unreadable('too many ways')
      const state = states[at]
      // Visiting a branch twice means one more round of a loop whose body can be empty, as in (a*)*. That counts as
      // another way.
      if (!state || path.indexOf(at) !== path.lastIndexOf(at)) return
      if (state.kind === 'char') {
        const index = indexOf.get(at) as number
        ways.set(index, (ways.get(index) ?? 0) + 1)
      } else if (state.kind === 'split') {
        path.push(at)
        for (const next of state.next) walk(next)
        path.pop()
      } else if (state.kind === 'start' && atStart) walk(state.next)
    }
    walk(from)
    return ways
  }

  const skipped = searches ? reach(first, false) : new Map<number, number>()
  if (skipped.size > 0) skipped.set(0, 1)
  return [
    { set: ANY, next: skipped },
    ...chars.map((at) => {
      const state = states[at] as Extract<(typeof states)[number], { kind: 'char' }>
      return { set: state.set, next: reach(state.next, false) }
    }),
    // The start of the text, which no position leads to.
    { set: ANY, next: reach(first, true) },
  ]
}

class Ambiguity {
  readonly #positions: readonly Position[]
  readonly #anyFlags: boolean
  readonly #steps: { left: number }
  readonly #loops: Components

  constructor(positions: readonly Position[], anyFlags: boolean, steps: { left: number }) {
    this.#positions = positions
    this.#anyFlags = anyFlags
    this.#steps = steps
    this.#loops = findComponents(positions.length, (at) => [...(positions[at]?.next.keys() ?? [])])
  }

  degree(): number {
    const { of, looping } = this.#loops
    if (this.#waysBesideLoops() > MAX_WAYS) return Number.POSITIVE_INFINITY
    if (!this.#positions.some((_, at) => looping.has(of(at)))) return 1
    if (this.#positions.length > MAX_WITH_LOOPS) throw new Unreadable('too many states')
    if (this.#doubles()) return Number.POSITIVE_INFINITY
    return 1 + this.#longestChain()
  }

  /**
   * The maximum number of ways to match one text, where a loop counts as one. Each position multiplies by how many of
   * its successors take the same character.
   */
  #waysBesideLoops(): number {
    const { of } = this.#loops
    const known = new Map<number, number>()
    const members = Map.groupBy(this.#positions.keys(), of)
    const ways = (loop: number): number => {
      const before = known.get(loop)
      if (before !== undefined) return before
      let most = 1
      for (const at of members.get(loop) ?? []) {
        const outside = [...(this.#positions[at]?.next ?? [])].filter(([to]) => of(to) !== loop)
        const further = Math.max(1, ...outside.map(([to]) => ways(of(to))))
        most = Math.max(most, Math.max(1, this.#sharing(outside)) * further)
      }
      known.set(loop, most)
      return most
    }
    return Math.max(...this.#positions.map((_, at) => ways(of(at))))
  }

  /** The maximum number of these that take the same character. */
  #sharing(next: readonly (readonly [to: number, ways: number])[]): number {
    let most = 0
    for (const [to] of next) {
      let sharing = 0
      for (const [other, ways] of next) if (this.#overlap(to, other)) sharing += ways
      most = Math.max(most, sharing)
    }
    return most
  }

  /** True if two ways lead from a position of a loop back to it on the same text: each round then doubles the ways. */
  #doubles(): boolean {
    const { of, looping } = this.#loops
    for (const [at, { next }] of this.#positions.entries()) {
      for (const [to, ways] of next) if (ways > 1 && of(at) === of(to)) return true
    }
    const size = this.#positions.length
    const inLoop = (pair: number) => {
      const [p, q] = [Math.floor(pair / size), pair % size]
      return of(p) === of(q) && looping.has(of(p))
    }
    const pairs = findComponents(size * size, (pair) => (inLoop(pair) ? this.#nextPairs(pair).filter(inLoop) : []))
    const diagonal = new Set<number>()
    for (let at = 0; at < size; at++) if (looping.has(of(at))) diagonal.add(pairs.of(at * size + at))
    for (let pair = 0; pair < size * size; pair++) {
      if (Math.floor(pair / size) !== pair % size && inLoop(pair) && diagonal.has(pairs.of(pair))) return true
    }
    return false
  }

  /** The longest chain of loops among which the same text can be divided. Each adds 1 to the exponent. */
  #longestChain(): number {
    const { of, looping } = this.#loops
    const size = this.#positions.length
    const after = new Map<number, Set<number>>()
    for (let at = 0; at < size; at++) {
      if (!looping.has(of(at))) continue
      for (const pair of this.#reachable(at * size + at)) {
        const [p, q] = [Math.floor(pair / size), pair % size]
        if (of(p) !== of(at) || of(q) === of(p) || !looping.has(of(q)) || !this.#repeats(pair)) continue
        const known = after.get(of(p)) ?? new Set()
        after.set(of(p), known.add(of(q)))
      }
    }
    const lengths = new Map<number, number>()
    const longest = (loop: number): number => {
      const known = lengths.get(loop)
      if (known !== undefined) return known
      const length = Math.max(0, ...[...(after.get(loop) ?? [])].map((next) => 1 + longest(next)))
      lengths.set(loop, length)
      return length
    }
    return Math.max(0, ...[...after.keys()].map(longest))
  }

  readonly #repeating = new Map<number, boolean>()

  /** True if both loops can repeat on the same text. */
  #repeats(pair: number): boolean {
    const known = this.#repeating.get(pair)
    if (known !== undefined) return known
    const { of } = this.#loops
    const size = this.#positions.length
    const [p, q] = [of(Math.floor(pair / size)), of(pair % size)]
    const stays = (next: number) => of(Math.floor(next / size)) === p && of(next % size) === q
    const repeats = this.#reachable(pair, stays).has(pair)
    this.#repeating.set(pair, repeats)
    return repeats
  }

  /** Does not include the start pair unless a way leads back to it. */
  #reachable(from: number, within: (pair: number) => boolean = () => true): Set<number> {
    const seen = new Set<number>()
    const open = [from]
    while (open.length > 0) {
      for (const next of this.#nextPairs(open.pop() as number)) {
        if (seen.has(next) || !within(next)) continue
        seen.add(next)
        open.push(next)
      }
    }
    return seen
  }

  #nextPairs(pair: number): number[] {
    const size = this.#positions.length
    const found: number[] = []
    for (const p of this.#positions[Math.floor(pair / size)]?.next.keys() ?? []) {
      for (const q of this.#positions[pair % size]?.next.keys() ?? []) {
        if (--this.#steps.left < 0) throw new Unreadable('too many ways')
        if (this.#overlap(p, q)) found.push(p * size + q)
      }
    }
    return found
  }

  #overlap(p: number, q: number): boolean {
    if (p === q) return true
    const [one, other] = [this.#positions[p]?.set ?? ANY, this.#positions[q]?.set ?? ANY]
    if (one.beyond && other.beyond) return true
    if (!this.#anyFlags) return (one.ascii & other.ascii) !== 0n
    return (anyCase(one) & anyCase(other)) !== 0n
  }
}

const UPPER = ((1n << 26n) - 1n) << 65n
const LOWER = UPPER << 32n

function anyCase({ source, ascii }: CharSet): bigint {
  return source === '.' ? ANY.ascii : ascii | ((ascii & UPPER) << 32n) | ((ascii & LOWER) >> 32n)
}
