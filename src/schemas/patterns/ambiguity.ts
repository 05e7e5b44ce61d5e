/**
 * How the time of JavaScript's own engine grows with the text, told from the pattern alone. That engine tries one way
 * after the other, so that a text costs as many steps as there are ways to read it (Weber and Seidl, "On the degree of
 * ambiguity of finite automata"). Where this cannot tell, it says `unsafe`.
 */
import { type Automaton, buildAutomaton } from './automaton.ts'
import { type Components, findComponents } from './components.ts'
import { ANY, type CharSet, type Node, parsePattern, Unreadable } from './syntax.ts'

export type Growth = 'linear' | 'quadratic' | 'unsafe'

const MAX_STATES = 1_500
/** Ways to read one text that come without loops, by alternatives and optional parts. */
const MAX_WAYS = 10_000
/** A part that may repeat more often counts as a loop: the ways through it multiply all the same. */
const ENDLESS_ABOVE = 8
const MAX_POSITIONS = 1_000
/** Pairs of places are looked at where there are loops. */
const MAX_WITH_LOOPS = 300
/** Of the whole analysis; it takes some tens of milliseconds then. */
const MAX_STEPS = 1_000_000

export interface PatternFlags {
  /** The flags are not known: letters count as both cases, and a dot as every character. */
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

/** The power of the text's length that the steps grow with; infinity where they double with each character. */
function degreeOf(tree: Node, searches: boolean, anyFlags: boolean, steps: { left: number }): number {
  const automaton = buildAutomaton(tree, {
    conditions: 'ignored',
    maxStates: MAX_STATES,
    endlessAbove: ENDLESS_ABOVE,
  })
  const own = new Ambiguity(positionsOf(automaton, searches, steps), anyFlags, steps).degree()
  // A condition at the very start is looked at once; anywhere else it may be looked at wherever a loop stops.
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

/** A place that takes a character, and those that can take the next one; twice where two ways lead there. */
interface Position {
  readonly set: CharSet
  readonly next: ReadonlyMap<number, number>
}

/** Position 0 is what a search skips before a match begins; it leads nowhere where a pattern only fits at the start. */
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
      // Twice at the same branch is once more around a loop whose body can be empty, as in (a*)*: another way.
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
    // The start of the text, which nothing leads to.
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

  /** Most ways to read one text, where a loop counts as one. Each place multiplies by how many of its next take the same. */
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

  /** How many of these take the same character, at most. */
  #sharing(next: readonly (readonly [to: number, ways: number])[]): number {
    let most = 0
    for (const [to] of next) {
      let sharing = 0
      for (const [other, ways] of next) if (this.#overlap(to, other)) sharing += ways
      most = Math.max(most, sharing)
    }
    return most
  }

  /** Two ways from a place of a loop back to it on the same text: each round doubles the ways. */
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

  /** Loops one after the other that the same text can be divided among: each adds a power. */
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

  /** Whether both can go round at the same time. */
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

  /** Without the pair it begins at, unless a way leads back there. */
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
