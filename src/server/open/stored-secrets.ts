/** Opens the encrypted store of a data folder for the command line, without a server. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '../../core/fault.ts'
import { createSecretStore, type SecretStore } from '../../security/secrets/store.ts'
import { createVault, parseVaultKey } from '../../security/secrets/vault.ts'
import { createSqliteStore } from '../../stores/sqlite/index.ts'
import { createLog } from '../../telemetry/index.ts'
import { systemClock } from '../build/environment.ts'
import { openPostgres } from '../build/storage.ts'
import { openDataFolder } from './data-folder.ts'
import { requireSameKeys } from './shared-keys.ts'

export interface StoredSecretsOptions {
  data: string
  /** The address of a Postgres database. Default: SQLite in the data folder. */
  store?: string | undefined
  /** The schema in that database. Default: `callplane`. */
  schema?: string | undefined
  env: Readonly<Record<string, string | undefined>>
  /** True to create a missing folder. */
  create: boolean
}

/** Closes the store when `use` has settled. */
export async function withStoredSecrets<T>(
  { data, store: url, schema, env, create }: StoredSecretsOptions,
  use: (secrets: SecretStore) => Promise<T>,
): Promise<T> {
  if (url === undefined && !create && !existsSync(join(data, 'callplane.db'))) {
    throw new Fault('not-found', `There is no database in ${data}. Name the server's data folder with --data.`)
  }
  const folder = openDataFolder(data)
  const { CALLPLANE_VAULT_KEY: given } = env
  const current = given === undefined ? folder.vaultKey() : parseVaultKey(given, 'CALLPLANE_VAULT_KEY')
  const store =
    url === undefined
      ? createSqliteStore({ file: folder.database, clock: systemClock })
      : await openPostgres({ url, peers: false, ...(schema !== undefined && { schema }) })({
          clock: systemClock,
          log: createLog({ level: 'silent' }),
        })
  try {
    if (store.peers) await requireSameKeys(store.records, { vault: { current } })
    return await use(createSecretStore(store.records, createVault(store.records, { current })))
  } finally {
    await store.close()
  }
}
