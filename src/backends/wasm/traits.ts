/** The traits of this backend kind, which the server reads without loading the backend. */
import type { BackendTraits } from '../../core/ports/backend.ts'

export const wasmTraits: BackendTraits = {
  kind: 'wasm',
  isolated: true,
  insteadOfAuth:
    'A module has no network, so it cannot use a credential. Leave "auth" out, or run the tool as a container, which receives it as an environment variable.',
}
