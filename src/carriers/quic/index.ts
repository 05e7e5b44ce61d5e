/** QUIC: HTTP/3 for routes, and raw streams for messages and frames. */
export { createHttp3Carrier } from './http3-carrier.ts'
export { loadQuicLibrary } from './library.ts'
export { createRawCarrier } from './raw-carrier.ts'
export { suitsBrowsers } from './settings.ts'
