import { expect, test } from 'vitest'
import { isSigned } from '../../../src/protocols/opencall/addresses.ts'
import { createRedactor } from '../../../src/security/redaction/redaction.ts'
import { createEnvironment, type LinkKeys } from '../../../src/server/build/environment.ts'
import { createManualClock } from '../../../src/testing/fakes/clock.ts'
import { createMemoryLog } from '../../../src/testing/fakes/memory-log.ts'

const PATH = '/objects/a.b'
const clock = createManualClock()
const key = (byte: number) => new Uint8Array(32).fill(byte)
const envWith = (keys: LinkKeys) => createEnvironment(createMemoryLog([]), keys, clock, createRedactor())

function createLink(env = envWith({ current: key(1) })) {
  const expires = clock.now() + 1_000
  return { expires, signature: env.sign(`${PATH}?expires=${expires}`) }
}

test('a signed link holds for its path until it expires, and with no other signature', () => {
  const env = envWith({ current: key(1) })
  const { expires, signature } = createLink(env)
  const query = (text: string) => `expires=${expires}&signature=${text}`
  const wrong = [...signature].map(
    (letter, at) => signature.slice(0, at) + (letter === 'A' ? 'B' : 'A') + signature.slice(at + 1),
  )

  expect(isSigned(PATH, query(signature), env)).toBe(true)
  expect([...wrong, signature.slice(1), `${signature}A`].filter((text) => isSigned(PATH, query(text), env))).toEqual([])
  expect(isSigned('/objects/a.c', query(signature), env)).toBe(false)
  clock.advance(1_000)
  expect(isSigned(PATH, query(signature), env)).toBe(false)
})

test('a link of an earlier key holds as long as that key is named', () => {
  const { expires, signature } = createLink()
  const query = `expires=${expires}&signature=${signature}`

  expect(isSigned(PATH, query, envWith({ current: key(2), old: [key(3), key(1)] }))).toBe(true)
  expect(isSigned(PATH, query, envWith({ current: key(2), old: [key(3)] }))).toBe(false)
})
