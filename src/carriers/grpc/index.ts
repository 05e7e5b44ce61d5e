/** gRPC, unary, with JSON messages: the carrier's public face. */
export { createGrpcCarrier, type GrpcLimits } from './carrier.ts'
