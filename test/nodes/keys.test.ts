/** Servers on one database have the same keys, or do not start. */
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import type { ServerOptions } from 'callplane'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeWith, postgresServer } from '../engines/engines.ts'
import { type Postgres, startPostgres } from '../engines/postgres.ts'
import { temporaryFolder } from '../scenarios/server.ts'
import { newSchema, startNodes } from './sites.ts'

const newKey = () => randomBytes(32).toString('hex')
const newSigningKey = () => generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string

describeWith(postgresServer, 'keys of servers on one Postgres', () => {
  let postgres: Postgres

  beforeAll(async () => {
    postgres = await startPostgres()
  }, 60_000)
  afterAll(() => postgres[Symbol.asyncDispose]())

  const start = (schema: string, options: Partial<ServerOptions>) =>
    startNodes(postgres, { schema, count: 1, options: { operations: [], ...options } })

  test('a server with another key does not start, and says which key it is and what to do', async () => {
    const [schema, vault, links] = [newSchema(), { key: newKey() }, { key: newKey() }]
    const [privateKey, data] = [newSigningKey(), temporaryFolder()]
    const same = { vault, links, signing: { keyId: 'k1', privateKey } }
    await start(schema, same)
    const refusal = (options: Partial<ServerOptions>) =>
      start(schema, { ...same, ...options }).then(
        () => 'started',
        ({ code, message }) => `${code}: ${message}`,
      )

    expect(await refusal({})).toBe('started')
    expect(await refusal({ vault: { key: newKey() } })).toMatch(/^KEY_DIFFERS: .*vault.*CALLPLANE_VAULT_KEY/)
    expect(await refusal({ links: { key: newKey() } })).toMatch(/^KEY_DIFFERS: .*links.*CALLPLANE_LINK_KEY/)
    expect(await refusal({ vault: {}, data })).toMatch(/^KEY_DIFFERS: .*vault/)
    expect(await refusal({ signing: { keyId: 'k1', privateKey: newSigningKey() } })).toMatch(/^KEY_DIFFERS: .*"k1"/)
    expect(await refusal({ signing: { keyId: 'k2', privateKey: newSigningKey() } })).toBe('started')
  }, 60_000)

  test('a key is changed by naming the earlier one, and no key is stored', async () => {
    const [schema, before, after] = [newSchema(), newKey(), newKey()]
    const old = { vault: { key: before }, links: { key: before } }
    const changed = { key: after, oldKeys: [before] }
    await start(schema, old)

    // A rolling change: first all servers know both keys, then the new one is used.
    await start(schema, { vault: { key: before, oldKeys: [after] }, links: { key: before, oldKeys: [after] } })
    await start(schema, { vault: changed, links: changed })

    await expect(start(schema, old)).rejects.toMatchObject({ code: 'KEY_DIFFERS' })
    expect(await start(schema, { vault: { key: after }, links: { key: after } })).toHaveLength(1)
    const stored = await postgres.query(`SELECT string_agg(value, ' ') AS all FROM ${schema}.records`)
    expect(JSON.stringify(stored)).not.toContain(after.slice(0, 16))
  }, 60_000)
})
