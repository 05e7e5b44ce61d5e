/**
 * Secrets are read by name from real variables, files, programs and a database, on every use. An error names a
 * missing one.
 */
import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Fault } from '../../src/core/fault.ts'
import { CODES, codeOf } from '../../src/protocols/contract/faults.ts'
import {
  createSecrets,
  DEFAULT_PLACES,
  type SecretParts,
  type SecretPlace,
} from '../../src/security/secrets/secrets.ts'
import { createSecretStore } from '../../src/security/secrets/store.ts'
import { createVault } from '../../src/security/secrets/vault.ts'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { verifies } from '../requirements.ts'
import { temporaryFolder } from '../stores/folder.ts'

const { signal } = new AbortController()

function open(places: readonly SecretPlace[], parts: Partial<SecretParts> = {}) {
  const noStore = () => {
    throw new Error('no store here')
  }
  const source = createSecrets(places, { env: {}, folder: temporaryFolder(), store: noStore, ...parts })
  return (name: string, stop = signal) => source.resolve(name, stop)
}

/** As the kubelet does it: the keys are links through `..data`, which is replaced as a whole. */
function mount(folder: string, keys: Record<string, string>) {
  mkdirSync(folder, { recursive: true })
  const version = `..v${randomBytes(4).toString('hex')}`
  mkdirSync(join(folder, version))
  for (const [key, value] of Object.entries(keys)) {
    writeFileSync(join(folder, version, key), value)
    rmSync(join(folder, key), { force: true })
    symlinkSync(join('..data', key), join(folder, key))
  }
  symlinkSync(version, join(folder, '..data.new'))
  renameSync(join(folder, '..data.new'), join(folder, '..data'))
}

test('a variable is a value, its double underscores are fields, and a changed one counts at once', async () => {
  verifies('contract:113', 'contract:114', 'contract:115', 'contract:120')
  const env: Record<string, string> = { CALLPLANE_SECRET_SEARCH_API_KEY: 'first', OTHER_CRM__CLIENT_ID: 'id' }
  const resolve = open([{ kind: 'env' }, { kind: 'env', prefix: 'OTHER_' }], { env })

  const before = await resolve('search-api-key')
  env.CALLPLANE_SECRET_SEARCH_API_KEY = 'second'

  expect([before, await resolve('search-api-key')]).toEqual([{ value: 'first' }, { value: 'second' }])
  expect(await resolve('crm')).toEqual({ fields: { client_id: 'id' } })
})

test('files are values and folders are fields, also behind the links of a Kubernetes mount that is replaced', async () => {
  verifies('contract:113', 'contract:115')
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'plain'), 'with a line break\r\n')
  mount(folder, { token: 'first\n' })
  mount(join(folder, 'crm'), { client_id: 'id', client_secret: 'old' })
  const resolve = open([{ kind: 'files', folder }])

  const before = [await resolve('plain'), await resolve('token'), await resolve('crm')]
  mount(folder, { token: 'second\n' })
  mount(join(folder, 'crm'), { client_id: 'id2', client_secret: 'new' })

  expect(before).toEqual([
    { value: 'with a line break' },
    { value: 'first' },
    { fields: { client_id: 'id', client_secret: 'old' } },
  ])
  expect(await resolve('token')).toEqual({ value: 'second' })
  expect(await resolve('crm')).toEqual({ fields: { client_id: 'id2', client_secret: 'new' } })
})

test('nothing outside the folder is read, for any name or link', async () => {
  const outside = temporaryFolder()
  writeFileSync(join(outside, 'private'), 'not for you')
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'fields'))
  symlinkSync(join(outside, 'private'), join(folder, 'linked'))
  symlinkSync(outside, join(folder, 'folder'))
  symlinkSync(join(outside, 'private'), join(folder, 'fields', 'linked'))
  const resolve = open([{ kind: 'files', folder }])

  for (const name of ['linked', 'folder', 'fields', '..', '../private', join(outside, 'private'), '.', '', 'a\0b']) {
    const refused = await resolve(name).catch((thrown: Fault) => thrown)
    expect(refused).toMatchObject({ name: 'Fault', kind: 'secret-missing' })
    expect(JSON.stringify(refused)).not.toContain('not for you')
  }
})

test('the encrypted store gives what was last put there, and its file does not show it', async () => {
  verifies('contract:115')
  const file = join(temporaryFolder(), 'calls.db')
  const store = createSqliteStore({ file, clock: createManualClock() })
  const secrets = createSecretStore(store.records, createVault(store.records, { current: randomBytes(32) }))
  const resolve = open([{ kind: 'store' }], { store: () => secrets })
  await secrets.set('b', { value: 'the-first-value' })
  await secrets.set('a', { fields: { client_id: 'x', client_secret: 'a-client-secret' } })

  const before = await resolve('b')
  await secrets.set('b', { value: 'the-second-value' })

  expect([before, await resolve('b')]).toEqual([{ value: 'the-first-value' }, { value: 'the-second-value' }])
  expect(await secrets.list()).toEqual(['a', 'b'])
  expect([await secrets.remove('b'), await secrets.remove('b')]).toEqual([true, false])
  await expect(resolve('b')).rejects.toMatchObject({ kind: 'secret-missing' })
  await store.close()
  for (const value of ['the-first-value', 'the-second-value', 'a-client-secret']) {
    expect(readFileSync(file).includes(value)).toBe(false)
  }
})

test('a command gets the name as its last argument, prints text or fields, and no shell looks at it', async () => {
  const script = `const name = process.argv.at(-1)
    if (name === 'fields') console.log(JSON.stringify({ client_id: 'a', client_secret: 'b' }))
    else if (name !== 'none') console.log('value of ' + name + ' ' + (process.env.CALLPLANE_SECRET_X ?? 'nothing'))`
  const env = { PATH: process.env.PATH, CALLPLANE_SECRET_X: 'own' }
  const resolve = open([{ kind: 'command', command: [process.execPath, '-e', script, '--'] }], { env })

  expect(await resolve('a.b')).toEqual({ value: 'value of a.b nothing' })
  expect(await resolve('fields')).toEqual({ fields: { client_id: 'a', client_secret: 'b' } })
  await expect(resolve('none')).rejects.toMatchObject({ kind: 'secret-missing' })
  await expect(resolve('$(id)')).rejects.toMatchObject({ kind: 'secret-missing' })
})

test('a command that fails, floods, hangs or is canceled ends, and its output is not reported', async () => {
  const commands = {
    'exit code 3': 'console.error("hunter2hunter2"); console.log("hunter2hunter2"); process.exit(3)',
    '65536 bytes': 'process.stdout.write("hunter2".repeat(100000))',
    'longer than 300 ms': 'console.log("hunter2hunter2"); setInterval(() => {}, 1000)',
    'field that is not a string': 'console.log(JSON.stringify({ hunter2hunter2: 2 }))',
  }
  for (const [why, script] of Object.entries(commands)) {
    const timeoutMs = why.startsWith('longer') ? 300 : 10_000
    const resolve = open([{ kind: 'command', command: [process.execPath, '-e', script], timeoutMs }, { kind: 'env' }], {
      env: { CALLPLANE_SECRET_KEY: 'another secret' },
    })
    const fault = (await resolve('key').catch((thrown: unknown) => thrown)) as Fault
    expect(fault.message).toContain(why)
    expect(fault.message).toContain('"key"')
    expect(`${JSON.stringify(fault)}${fault.stack}${String(fault.cause)}`).not.toContain('hunter2')
  }
  const stop = new AbortController()
  const hanging = open([{ kind: 'command', command: [process.execPath, '-e', 'setInterval(() => {}, 1000)'] }])
  const called = hanging('key', stop.signal)
  stop.abort(new Fault('canceled', 'Enough.'))
  await expect(called).rejects.toMatchObject({ kind: 'canceled', message: 'Enough.' })
})

test('the first place that has a secret is used; a missing secret is reported with the searched places and is not retried', async () => {
  verifies('contract:050', 'contract:059', 'contract:101', 'contract:110')
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'both'), 'from a file')
  const env = { CALLPLANE_SECRET_BOTH: 'from a variable', CALLPLANE_SECRET_EMPTY: '' }
  const resolve = open([{ kind: 'files', folder }, { kind: 'env' }], { env })

  const found = await resolve('both')
  const missing = (await resolve('empty').catch((thrown: unknown) => thrown)) as Fault

  expect(found).toEqual({ value: 'from a file' })
  expect(missing).toMatchObject({ kind: 'secret-missing', retryable: false, details: { secret_ref: 'empty' } })
  expect(missing.message).toBe(
    'The secret "empty" is not available. It is not in the folder of secrets, nor in the environment ' +
      '(CALLPLANE_SECRET_EMPTY). Put it there.',
  )
  expect([codeOf(missing.kind), CODES[codeOf(missing.kind)].reason]).toEqual([
    'secret_resolution_failed',
    'tool_secret_resolution_failed',
  ])
  const absent = open([{ kind: 'files', folder: join(folder, 'absent') }, ...DEFAULT_PLACES], { env })
  await expect(absent('both')).rejects.toThrow(/cannot be read from the folder of secrets \(ENOENT\)/)
})

test('a place that is configured wrongly is refused before anything is looked for', () => {
  const wrong: [unknown, RegExp][] = [
    [{ kind: 'vault' }, /secrets\[0\]\.kind must be one of env, files, store, command/],
    [{ kind: 'env', prefx: 'A_' }, /which has no "prefx"/],
    [{ kind: 'env', prefix: 'A=' }, /prefix must be a prefix/],
    [{ kind: 'files' }, /folder is missing/],
    [{ kind: 'command', command: 'pass show' }, /must be a list/],
    [{ kind: 'command', command: [] }, /must be a list/],
    [{ kind: 'command', command: ['pass'], timeoutMs: 0 }, /timeoutMs must be/],
  ]
  for (const [place, message] of wrong) expect(() => open([place as SecretPlace])).toThrow(message)
})
