export { TRANSPORT, WebRtcCarrier } from './carrier.ts'
export { loadWerift } from './library.ts'
