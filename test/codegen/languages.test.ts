import { expect, test } from 'vitest'
import { generateGo } from '../../src/codegen/go/generate.ts'
import { generatePython } from '../../src/codegen/python/generate.ts'
import { readCatalogue } from '../../src/codegen/read-catalogue.ts'
import { HOSTILE } from './clients/hostile-registry.ts'

const TARGETS = [
  ['Python', generatePython],
  ['Go', generateGo],
] as const

test.each(TARGETS)('%s: a registry in another order gives the same file', (_language, generate) => {
  const turned = { ...HOSTILE, operations: HOSTILE.operations.map(turnedAround).reverse() }

  const [one, other] = [HOSTILE, turned].map((document) => generate(readCatalogue(document)).text)

  expect(other).toBe(one)
})

test.each(TARGETS)('%s: the file has every operation, and no invisible character', (_language, generate) => {
  const { text } = generate(readCatalogue(HOSTILE, { title: 'Title\u202e """ */' }))

  for (const { op } of HOSTILE.operations) expect(text).toContain(JSON.stringify(op))
  expect(text.match(/[^\n\t\P{C}]/gu)).toBeNull()
})

test.each(TARGETS)('%s: the remedies of error codes are in the file', (_language, generate) => {
  const errors = [{ code: 'DOOR_LOCKED', remedy: 'Unlock the door.' }]
  const { text } = generate(readCatalogue({ operations: [{ op: 'v1:doors.open', errors }] }))

  expect(text).toMatch(/"DOOR_LOCKED"\]?(?:: | = )"Unlock the door\."/)
})

function turnedAround<T extends object>(entry: T): T {
  return Object.fromEntries(Object.entries(entry).reverse()) as T
}
