/** A store in one process that other processes use. */
export { type Channel, createChannel } from './channel.ts'
export { createStoreClient } from './client.ts'
export { createStoreServer, type StoreServer } from './store-server.ts'
