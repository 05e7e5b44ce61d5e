/** What the rest of the server knows about this kind, without loading what runs it. */
import type { BackendTraits } from '../../core/ports/backend.ts'

export const wasmTraits: BackendTraits = {
  kind: 'wasm',
  isolated: true,
  insteadOfAuth:
    'A module has no network, so it cannot use a credential. Leave "auth" out, or run the tool as a container, which finds it in its environment.',
}
