/** A store that one process keeps and others use. */
export { type Channel, createChannel } from './channel.ts'
export { createStoreClient } from './client.ts'
export { createStoreServer, type StoreServer } from './store-server.ts'
