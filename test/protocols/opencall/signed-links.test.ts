import { expect, test } from 'vitest'
import { isSigned } from '../../../src/protocols/opencall/addresses.ts'
import { createRedactor } from '../../../src/security/redaction/redaction.ts'
import { createEnvironment } from '../../../src/server/build/environment.ts'
import { createManualClock } from '../../../src/testing/fakes/clock.ts'
import { createMemoryLog } from '../../../src/testing/fakes/memory-log.ts'

const PATH = '/objects/a.b'

function createLink() {
  const clock = createManualClock()
  const env = createEnvironment(createMemoryLog([]), new Uint8Array(32), clock, createRedactor())
  const digested: string[] = []
  const digest = (text: string) => {
    digested.push(text)
    return env.digest(text)
  }
  const expires = clock.now() + 1_000
  const signature = env.sign(`${PATH}?expires=${expires}`)
  return { env: { ...env, digest }, clock, digested, expires, signature }
}

test('a signed link holds for its path until it expires, and with no other signature', () => {
  const { env, clock, expires, signature } = createLink()
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

test('a signature is compared by digests, so that the time tells nothing about how much of it is right', () => {
  const { env, digested, expires, signature } = createLink()

  isSigned(PATH, `expires=${expires}&signature=wrong`, env)

  expect(digested.sort()).toEqual(['wrong', signature].sort())
})
