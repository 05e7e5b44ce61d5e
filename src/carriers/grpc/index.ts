/** gRPC, unary, with JSON messages: the carrier's public face. */
export { createGrpcCarrier } from './carrier.ts'
