export { openPostgresStore, type PostgresStoreOptions } from './store.ts'
