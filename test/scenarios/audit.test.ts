/** The complete audit entry of a call: one that ran, recorded or not, and one that was refused. */
import { hash } from 'node:crypto'
import { operation, type PolicyDefinition } from 'callplane'
import { expect, test } from 'vitest'
import { openDesk } from './approving.ts'
import { createGate, createStepClock } from './server.ts'

const policy: PolicyDefinition = {
  default: 'deny',
  rules: [
    { id: 'notes', effect: 'allow', what: { operation: 'v1:notes.*' } },
    { id: 'no-erasing', effect: 'deny', what: { operation: 'v1:notes.erase' } },
  ],
}

const START = '2026-01-01T00:00:00.000Z'
const LATER = '2026-01-01T00:00:02.500Z'

async function openNotes() {
  const clock = createStepClock(Date.parse(START))
  const gate = createGate<string>()
  const keep = operation('v1:notes.keep', { model: 'async', run: () => gate.pass() })
  const read = operation('v1:notes.read', { run: () => gate.pass() })
  const erase = operation('v1:notes.erase', { run: () => 'erased' })
  const desk = await openDesk({ clock, policy, operations: [keep, read, erase] })
  return {
    clock,
    gate,
    desk,
    async entries(): Promise<unknown> {
      const { body } = await desk.as('root', 'v1:callplane.audit.list', { owner: 'callplane|agent' })
      return (body.result as { entries: unknown }).entries
    },
  }
}

const entryOf = (name: string, args: string) => ({
  id: expect.stringMatching(/^[0-9a-f-]{36}$/),
  owner: 'callplane|agent',
  requestId: 'r1',
  operation: `${name}@1.0.0`,
  fingerprint: hash('sha256', `["${name}",${args},[]]`),
  backend: 'handler',
})

test.each(['v1:notes.keep', 'v1:notes.read'])('of a call that ran: %s', async (name) => {
  const { clock, gate, desk, entries } = await openNotes()

  const calling = desk.as('agent', name, { note: 'milk' }, { requestId: 'r1' })
  await gate.began
  clock.advance(2_500)
  gate.open('done')
  await calling
  if (name === 'v1:notes.keep') await desk.outcome('r1')

  expect(await entries()).toEqual([
    {
      ...entryOf(name, '{"note":"milk"}'),
      verdict: 'allow',
      rule: 'policy#notes',
      attempts: 1,
      outcome: 'complete',
      startedAt: START,
      endedAt: LATER,
    },
  ])
})

test('of a call that a rule refused', async () => {
  const { clock, desk, entries } = await openNotes()
  clock.advance(2_500)

  await desk.as('agent', 'v1:notes.erase', { all: true }, { requestId: 'r1' })

  expect(await entries()).toEqual([
    {
      ...entryOf('v1:notes.erase', '{"all":true}'),
      verdict: 'deny',
      rule: 'policy#no-erasing',
      attempts: 0,
      outcome: 'forbidden',
      code: expect.any(String),
      startedAt: LATER,
      endedAt: LATER,
    },
  ])
})
