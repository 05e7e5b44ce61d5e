/** The vault seals stored values. A value opens only with its key and only in its own place. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Records } from '../../src/core/ports/store.ts'
import { createVault, parseVaultKey } from '../../src/security/secrets/vault.ts'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { temporaryFolder } from '../stores/folder.ts'

const clock = createManualClock()

function openRecords(): Records {
  const store = createSqliteStore({ file: join(temporaryFolder(), 'calls.db'), clock })
  onTestFinished(() => store.close())
  return store.records
}

test('a value is opened unchanged, and no two sealed values are equal', async () => {
  const records = openRecords()
  const vault = createVault(records, { current: randomBytes(32) })
  const value = 'grüße 😀 '.repeat(100)

  await vault.put('a', value)
  await vault.put('b', value)
  await vault.put('empty', '')

  expect([await vault.get('a'), await vault.get('empty'), await vault.get('c')]).toEqual([value, '', undefined])
  const sealed = [await records.get('a'), await records.get('b')]
  expect(sealed[0]).not.toBe(sealed[1])
  expect(sealed[0]).not.toContain('grüße')
  const take = (text: string) => vault.takeAnd('b', [{ key: 'c', value: text }])
  expect(await Promise.all([take('first'), take('second')])).toEqual([value, undefined])
  expect([await vault.get('b'), await vault.get('c')]).toEqual([undefined, 'first'])
  await vault.remove('a')
  expect(await vault.get('a')).toBe(undefined)
})

test('a value that was moved to another key, cut short or changed does not open', async () => {
  const records = openRecords()
  const vault = createVault(records, { current: randomBytes(32) })
  await vault.put('ada', 'her token')
  const sealed = (await records.get('ada')) ?? ''
  const flipped = sealed.replace(/(?<=\..{60})./, (digit) => (digit === 'A' ? 'B' : 'A'))

  for (const [key, value] of [
    ['bob', sealed],
    ['ada', flipped],
    ['ada', sealed.slice(0, 20)],
    ['ada', 'in clear'],
    ['ada', ''],
  ] as const) {
    await records.put(key, value)
    await expect(vault.get(key)).rejects.toMatchObject({ name: 'Fault', kind: 'internal', code: 'VAULT_DAMAGED' })
  }
})

test('after a change of key the old one still opens, and a key that is missing is named', async () => {
  const records = openRecords()
  const [old, current] = [randomBytes(32), randomBytes(32)]
  await createVault(records, { current: old }).put('a', 'before')

  const rotated = createVault(records, { current, old: [old] })
  await rotated.put('b', 'after')
  expect([await rotated.get('a'), await rotated.get('b')]).toEqual(['before', 'after'])

  const without = createVault(records, { current })
  expect(await without.get('b')).toBe('after')
  const id = /^1\.([0-9a-f]{12})\./.exec((await records.get('a')) ?? '')?.[1] ?? 'none'
  await expect(without.get('a')).rejects.toMatchObject({
    kind: 'unavailable',
    code: 'VAULT_KEY',
    retryable: false,
    developerMessage: expect.stringContaining(id),
  })
})

test('a key is 32 bytes, in hex or base64 or as they are; anything else is refused', () => {
  const key = randomBytes(32)

  const spellings = [
    key,
    key.toString('hex'),
    key.toString('base64'),
    key.toString('base64url'),
    ` ${key.toString('hex')}\n`,
  ]

  for (const spelling of spellings) expect(Buffer.from(parseVaultKey(spelling, 'key'))).toEqual(key)
  for (const wrong of ['', 'password', key.toString('hex').slice(2), randomBytes(31), randomBytes(0)]) {
    expect(() => parseVaultKey(wrong, 'vault.key')).toThrow(/^vault\.key must be 32 bytes/)
  }
})
