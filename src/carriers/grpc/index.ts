/** gRPC, unary, with JSON messages: the carrier's public face. */
export { createGrpcCarrier, type GrpcCarrier, type GrpcLimits, type GrpcOptions } from './carrier.ts'
