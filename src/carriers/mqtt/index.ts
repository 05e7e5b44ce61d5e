export { Broker, type BrokerSettings } from './broker.ts'
export { createMqttCarrier, type MqttCarrierOptions } from './carrier.ts'
export { type FrameSettings, MqttFrames } from './frames.ts'
export { publishLate } from './late.ts'
