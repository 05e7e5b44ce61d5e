export { TRANSPORT, WebRtcCarrier, type WebRtcSettings } from './carrier.ts'
export { loadWerift } from './library.ts'
