/** Every code in the sources that a caller of OpenCALL can get has its meaning in `/.well-known/errors`. */
import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { CODES } from '../../../src/protocols/opencall/discovery/fault-codes.ts'
import { serviceErrors } from '../../../src/protocols/opencall/discovery/service-errors.ts'

const ROOT = new URL('../../../', import.meta.url).pathname

/** Folders whose faults reach a caller. The others are other protocols, commands, and what happens at start. */
const REACHED = [
  'core',
  'engine',
  'wire',
  'protocols/opencall',
  'carriers',
  'backends',
  'stores',
  'objects',
  'platform',
  'schemas',
  'encodings',
  'security',
  'server/cells',
]

/** Thrown only when a server starts, when its operator runs a command, or to other programs than callers. */
const NOT_FOR_CALLERS = new Set([
  'CANNOT_LISTEN',
  'CREDENTIALS_MISSING',
  'ETIMEDOUT',
  'INVALID_NAME',
  'INVALID_OPERATION',
  'INVALID_OPTION',
  'INVALID_PROVIDER',
  'INVALID_REGISTRY',
  'INVALID_SCHEMA',
  'INVALID_SECRETS',
  'INVALID_STORE',
  'INVALID_VERSION',
  'JSON_SCHEMA_REQUIRED',
  'KAFKA_REFUSED',
  'OBJECTS_UNUSABLE',
  'PACKAGE_MISSING',
  'PEERS_ADDRESS_UNAVAILABLE',
  'PORT_IN_USE',
  'SECRET_NAME',
  'STORAGE_FOREIGN',
  'STORAGE_LOST',
  'STORAGE_NEWER',
  'STORAGE_OLDER',
  'TOPIC_MISSING',
])

/** OpenCALL has other names for these two. */
const RENAMED: Readonly<Record<string, string>> = { UNKNOWN_OPERATION: 'UNKNOWN_OP', OPERATION_REMOVED: 'OP_REMOVED' }

const thrown = new Map(
  REACHED.flatMap((folder) => globSync(`src/${folder}/**/*.ts`, { cwd: ROOT })).flatMap((file) =>
    [...readFileSync(ROOT + file, 'utf8').matchAll(/\bcode: '([A-Z][A-Z0-9_]+)'/g)].map(([, code = '']) => [
      code,
      file,
    ]),
  ),
)

test('every code that reaches a caller is described', () => {
  const described = new Set(serviceErrors().map(({ code }) => code.replace(/^PANIC_/, '')))
  const missing = [...thrown].filter(
    ([code = '']) => !described.has(RENAMED[code] ?? code) && !NOT_FOR_CALLERS.has(code),
  )

  expect(thrown.size).toBeGreaterThan(100)
  expect(missing).toEqual([])
})

test('a code that is described is still in the sources', () => {
  const sources = globSync('src/**/*.ts', { cwd: ROOT, exclude: ['src/protocols/opencall/discovery/**'] })
  const text = sources.map((file) => readFileSync(ROOT + file, 'utf8')).join('\n')
  // These are put together from words.
  const composed = new Set(['UNSUPPORTED_ENCODING', 'UNSUPPORTED_TRANSPORT'])

  expect(Object.keys(CODES).filter((code) => !composed.has(code) && !text.includes(`'${code}'`))).toEqual([])
  expect([...NOT_FOR_CALLERS].filter((code) => !thrown.has(code) || code in CODES)).toEqual([])
})
