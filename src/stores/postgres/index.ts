export { isPostgresUrl } from './connect/address.ts'
export { openPostgresStore, type PostgresStoreOptions } from './store.ts'
