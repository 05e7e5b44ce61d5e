/** What the HTTP routes of OpenCALL need from the server. */

import type { Calls } from '../../../core/ports/calls.ts'
import type { Catalog } from '../../../core/ports/catalog.ts'
import type { StreamTransports } from '../../../core/ports/frames.ts'
import type { Identify, Presented } from '../../../core/ports/guard.ts'
import type { ObjectStore } from '../../../core/ports/objects.ts'
import type { Environment } from '../../../core/ports/runtime.ts'

export interface OpenCallSettings {
  /** True to follow the specification literally, without the lenient readings. */
  strict: boolean
  maxEnvelopeBytes: number
  maxUploadBytes: number
  /** The longest a caller may wait with `Prefer: wait`. */
  maxWaitMs: number
  signLinks: boolean
  /** True to list removed operations in the registry. */
  listRemoved: boolean
  eventStreamsPerCaller: number
}

export interface OpenCallParts {
  calls: Calls
  catalog: Catalog
  objects: ObjectStore
  /** Where streams can be read. */
  transports: StreamTransports
  env: Environment
  /** Identifies the caller. */
  identify: (presented: Presented) => Identify
  settings: OpenCallSettings
}
