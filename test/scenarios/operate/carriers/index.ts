/** The carriers besides HTTP/1.1, WebSocket and gRPC. A carrier that is added must be added here. */
import type { Carrier } from './carrier.ts'
import { kafkaCarrier } from './kafka.ts'
import { mqttCarrier } from './mqtt.ts'
import { http3, quicStreams } from './quic.ts'
import { mcpCallTool, mcpOnLines, openCallLines } from './stdio.ts'
import { webrtcCarrier } from './webrtc.ts'

export const CARRIERS: Readonly<Record<string, Carrier>> = {
  MQTT: mqttCarrier,
  Kafka: kafkaCarrier,
  'QUIC streams': quicStreams,
  'HTTP/3': http3,
  WebRTC: webrtcCarrier,
  'OpenCALL on standard input': openCallLines,
  'MCP on standard input': mcpOnLines,
}

/** Offers none of the server's own operations. */
export const CLOSED: Readonly<Record<string, Carrier>> = { 'the tool "call" of MCP on standard input': mcpCallTool }

/** These bring frames to a reader. */
export const WITH_FRAMES: Readonly<Record<string, Carrier>> = {
  MQTT: mqttCarrier,
  Kafka: kafkaCarrier,
  'QUIC streams': quicStreams,
  WebRTC: webrtcCarrier,
}

/** Their connections have no credential: every envelope has its own. */
export const WITHOUT_IDENTITY: Readonly<Record<string, Carrier>> = {
  MQTT: mqttCarrier,
  Kafka: kafkaCarrier,
  'QUIC streams': quicStreams,
}
