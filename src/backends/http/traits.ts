/** What the rest of the server knows about this kind, without loading what runs it. */
import type { BackendTraits } from '../../core/ports/backend.ts'

export const httpTraits: BackendTraits = { kind: 'http', usesAuth: true }
