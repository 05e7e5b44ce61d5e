/** The traits of this backend kind, which the server reads without loading the backend. */
import type { BackendTraits } from '../../core/ports/backend.ts'

export const grpcTraits: BackendTraits = { kind: 'grpc', usesAuth: true }
