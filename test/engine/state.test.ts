/** The state table: forward only, and every call can end. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isTerminal, mayFollow, STATES, type State, statesBefore } from '../../src/core/state.ts'
import { verifies } from '../requirements.ts'

/** Every way a call's life can go on from a state, by always taking one of the steps that are allowed. */
const lives = fc.array(fc.nat()).map((choices) => {
  const life: State[] = ['accepted']
  for (const choice of choices) {
    const next = STATES.filter((state) => mayFollow(life.at(-1) as State, state))
    if (next.length === 0) break
    life.push(next[choice % next.length] as State)
  }
  return life
})

test('the table is the one of the specification', () => {
  verifies('opencall:290', 'opencall:292', 'opencall:293')
  const pairs = STATES.flatMap((from) => STATES.filter((to) => mayFollow(from, to)).map((to) => `${from} → ${to}`))

  expect(pairs).toEqual([
    'accepted → pending',
    'accepted → streaming',
    'accepted → complete',
    'accepted → error',
    'pending → streaming',
    'pending → complete',
    'pending → error',
    'streaming → complete',
    'streaming → error',
  ])
})

test('no life passes through a state twice, and none goes on after its end', () => {
  verifies('opencall:291')
  fc.assert(
    fc.property(lives, (life) => {
      expect(new Set(life).size).toBe(life.length)
      expect(life.slice(0, -1).some(isTerminal)).toBe(false)
    }),
  )
})

test('from every state that is not an end, an end can be reached in one step', () => {
  const open = STATES.filter((state) => !isTerminal(state))

  expect(open).toEqual(['accepted', 'pending', 'streaming'])
  for (const state of open) expect(mayFollow(state, 'error')).toBe(true)
})

test('what a store compares against is the table read backwards', () => {
  for (const to of STATES) {
    for (const from of STATES) expect(statesBefore(to).includes(from)).toBe(mayFollow(from, to))
  }
})
