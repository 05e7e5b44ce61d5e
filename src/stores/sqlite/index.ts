/** The embedded store. */
export { createSqliteStore } from './store.ts'
