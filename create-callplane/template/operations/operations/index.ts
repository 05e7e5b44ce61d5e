/** All operations, for the typed client and for tests. The server loads every file of this folder by itself. */
export * from './orders.ts'
export * from './parcels.ts'
