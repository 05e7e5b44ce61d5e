/**
 * Tests whether a pattern matches, in linear time: it follows all ways through the pattern at once. Sets of states are
 * cached, so that most characters cost one lookup.
 */
import { type Automaton, buildAutomaton } from './automaton.ts'
import { type CharSet, parsePattern } from './syntax.ts'

/** The part of a regular expression that ajv uses. */
export interface Matcher {
  test(text: string): boolean
  toString(): string
}

const MAX_STATES = 2_000
/** The maximum number of cached sets of states. Above it the cache is cleared. */
const MAX_KEPT = 500
const MAX_KEPT_CHARS = 4_096

/** Throws `Unreadable` for lookarounds, word boundaries and backreferences. */
export function createLinearMatcher(source: string): Matcher {
  return new LinearMatcher(
    source,
    buildAutomaton(parsePattern(source), { conditions: 'refused', maxStates: MAX_STATES }),
  )
}

interface Place {
  /** States that wait for a character or for the end. */
  readonly states: readonly number[]
  readonly matched: boolean
  readonly matchedAtEnd: boolean
  /** Indexed by the class of the next character. */
  readonly next: Place[]
}

class LinearMatcher implements Matcher {
  readonly #source: string
  readonly #automaton: Automaton
  readonly #sets: readonly CharSet[]
  readonly #classes = new Map<string, number>()
  /** A sample character of each class. */
  readonly #samples: number[] = []
  readonly #ascii = new Int16Array(128).fill(-1)
  readonly #others = new Map<number, number>()
  readonly #places = new Map<string, Place>()
  readonly #first: Place

  constructor(source: string, automaton: Automaton) {
    this.#source = source
    this.#automaton = automaton
    this.#sets = [...new Set(automaton.states.flatMap((state) => (state.kind === 'char' ? [state.set] : [])))]
    this.#first = this.#place([automaton.first], true)
  }

  test(text: string): boolean {
    let place = this.#first
    for (let at = 0; at < text.length; at++) {
      if (place.matched) return true
      let code = text.charCodeAt(at)
      if (code >= 0xd800 && code < 0xdc00) {
        code = text.codePointAt(at) as number
        if (code > 0xffff) at++
      }
      const kind = this.#classOf(code)
      place = place.next[kind] ?? this.#step(place, kind)
    }
    return place.matched || place.matchedAtEnd
  }

  toString(): string {
    return `linear:/${this.#source}/u`
  }

  /** Characters that belong to the same sets have the same class. */
  #classOf(code: number): number {
    const known = code < 128 ? this.#ascii[code] : this.#others.get(code)
    if (known !== undefined && known >= 0) return known
    let key = ''
    for (const set of this.#sets) key += set.has(code) ? '1' : '0'
    let kind = this.#classes.get(key)
    if (kind === undefined) {
      kind = this.#samples.push(code) - 1
      this.#classes.set(key, kind)
    }
    if (code < 128) this.#ascii[code] = kind
    else {
      if (this.#others.size >= MAX_KEPT_CHARS) this.#others.clear()
      this.#others.set(code, kind)
    }
    return kind
  }

  #step(from: Place, kind: number): Place {
    const sample = this.#samples[kind] as number
    const reached: number[] = []
    for (const at of from.states) {
      const state = this.#automaton.states[at]
      if (state?.kind === 'char' && state.set.has(sample)) reached.push(state.next)
    }
    // A match may begin at any character.
    reached.push(this.#automaton.first)
    const place = this.#place(reached, false)
    from.next[kind] = place
    return place
  }

  #place(reached: readonly number[], atStart: boolean): Place {
    const states = this.#closure(reached, atStart, false)
    const key = `${atStart}${states.join()}`
    const kept = this.#places.get(key)
    if (kept) return kept
    const accepts = (at: number) => this.#automaton.states[at]?.kind === 'accept'
    const matched = states.some(accepts)
    const matchedAtEnd = matched || this.#closure(states, atStart, true).some(accepts)
    const place: Place = { states, matched, matchedAtEnd, next: [] }
    if (this.#places.size >= MAX_KEPT) {
      // Old places refer to each other. Without this, those references would keep them in memory.
      for (const each of this.#places.values()) each.next.length = 0
      this.#places.clear()
      if (this.#first) this.#first.next.length = 0
    }
    this.#places.set(key, place)
    return place
  }

  /** All states that can be reached without taking a character. */
  #closure(from: readonly number[], atStart: boolean, atEnd: boolean): number[] {
    const seen = new Set<number>()
    const open = [...from]
    while (open.length > 0) {
      const at = open.pop() as number
      if (seen.has(at)) continue
      seen.add(at)
      const state = this.#automaton.states[at]
      if (state?.kind === 'split') open.push(...state.next)
      else if ((state?.kind === 'start' && atStart) || (state?.kind === 'end' && atEnd)) open.push(state.next)
    }
    const waiting = [...seen].filter((at) => this.#automaton.states[at]?.kind !== 'split')
    return waiting.sort((a, b) => a - b)
  }
}
