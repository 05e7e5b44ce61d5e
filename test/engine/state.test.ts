/** The state table: a call moves forward or stays, and can always end. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isTerminal, mayFollow, STATES, type State, statesBefore } from '../../src/core/call/state.ts'
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

const steps = STATES.flatMap((from) => STATES.filter((to) => mayFollow(from, to)).map((to) => ({ from, to })))

test('the moves are those of the specification', () => {
  verifies('opencall:290', 'opencall:292', 'opencall:293')
  const moves = steps.filter(({ from, to }) => from !== to).map(({ from, to }) => `${from} → ${to}`)

  expect(moves).toEqual([
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

test('an approved call stays accepted, one that is retried or waits stays pending, and a stream gets its reader', () => {
  const stays = steps.filter(({ from, to }) => from === to).map(({ to }) => to)

  expect(stays).toEqual(['accepted', 'pending', 'streaming'])
})

test('no call returns to an earlier state or continues after its end', () => {
  verifies('opencall:291')
  fc.assert(
    fc.property(lives, (life) => {
      const entered = life.filter((state, at) => state !== life[at - 1])
      expect(new Set(entered).size).toBe(entered.length)
      expect(life.slice(0, -1).some(isTerminal)).toBe(false)
    }),
  )
})

test('from every state that is not an end, an end can be reached in one step', () => {
  const open = STATES.filter((state) => !isTerminal(state))

  expect(open).toEqual(['accepted', 'pending', 'streaming'])
  for (const state of open) expect(mayFollow(state, 'error')).toBe(true)
})

test('the states that a store compares against are the inverse of the table', () => {
  for (const to of STATES) {
    for (const from of STATES) expect(statesBefore(to).includes(from)).toBe(mayFollow(from, to))
  }
})
