/** The embedded store. */
export { createSqliteStore, type SqliteStoreOptions } from './store.ts'
