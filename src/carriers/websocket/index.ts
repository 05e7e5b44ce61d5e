export { createWebSocketCarrier, type SocketRequest, type WebSocketCarrier } from './carrier.ts'
