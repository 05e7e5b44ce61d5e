/** The address of a store: hosts, logins and TLS. */
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/server/build/environment.ts'
import { parseAddress } from '../../../src/stores/postgres/connect/address.ts'
import { describeWith, postgresServer } from '../../engines/engines.ts'
import { startPostgres } from '../../engines/postgres.ts'
import { createCertificate } from '../../fixtures/tls.ts'
import { createSchema } from './schemas.ts'

test('an address names hosts, a login and a database', () => {
  const address = parseAddress('postgres://us%40er:p%3Ass@db1,[::1]:5433/calls?sslmode=disable')

  expect(address).toMatchObject({
    hosts: [
      { host: 'db1', port: 5432 },
      { host: '::1', port: 5433 },
    ],
    user: 'us@er',
    password: 'p:ss',
    database: 'calls',
    shown: 'db1:5432,::1:5433/calls',
  })
})

test('other machines are reached with TLS and a checked certificate unless the address says otherwise', () => {
  const tlsOf = (url: string) => parseAddress(url).tls

  expect(tlsOf('postgres://127.0.0.1/calls')).toBe(undefined)
  expect(tlsOf('postgres://db.example/calls?sslmode=disable')).toBe(undefined)
  expect(tlsOf('postgres://db.example/calls')).toEqual({ rejectUnauthorized: true })
  expect(tlsOf('postgres://127.0.0.1,db.example/calls')).toEqual({ rejectUnauthorized: true })
  expect(tlsOf('postgres://db.example/calls?sslmode=require')).toMatchObject({ rejectUnauthorized: false })
})

test('an address that cannot be used is refused without its password', () => {
  for (const url of [
    'postgres://u:secret@h:x/d',
    'postgres://u:secret@h/d?sslmode=prefer',
    'postgres://u:secret@h/d?pool=4',
    'postgres://u:secret%@h/d',
    'mysql://u:secret@h/d',
  ]) {
    const refusal = (() => {
      try {
        return parseAddress(url)
      } catch (thrown) {
        return thrown
      }
    })()
    expect(refusal).toMatchObject({ name: 'Fault', code: 'INVALID_STORE' })
    expect((refusal as Error).message).not.toContain('secret')
  }
})

describeWith(postgresServer, 'Postgres with TLS', () => {
  test('a store encrypts its connections, and refuses a certificate that it does not know', async () => {
    using certificate = createCertificate()
    await using server = await startPostgres({ tls: certificate })
    await using schema = createSchema(server)
    const open = (query: string) => schema.open({ clock: systemClock, url: `${server.url}?${query}` })

    const store = await open(`sslmode=verify-full&sslrootcert=${encodeURIComponent(certificate.certFile)}`)
    const unknown = open('sslmode=verify-full')

    await expect(unknown).rejects.toMatchObject({ code: 'STORAGE_UNREACHABLE' })
    expect(await store.get('any')).toBe(undefined)
    const plain = await server.query(`SELECT count(*)::int AS plain FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
      WHERE application_name = 'callplane' AND NOT ssl`)
    expect(plain).toEqual([{ plain: 0 }])
    await (await open('sslmode=require')).close()
  }, 60_000)
})
