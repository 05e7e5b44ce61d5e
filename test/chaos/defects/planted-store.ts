/** Stands for the Postgres store in a node, see plant.ts. */
import type { Store } from '../../../src/core/ports/store.ts'
import { openPostgresStore as open, type PostgresStoreOptions } from '../../../src/stores/postgres/index.ts'
import { STORE_DEFECTS } from './store-defects.ts'

export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const plant = STORE_DEFECTS[process.env.CHAOS_PLANT ?? '']
  if (!plant) throw new Error(`There is no defect "${process.env.CHAOS_PLANT}" of the store.`)
  return plant(await open(options))
}
