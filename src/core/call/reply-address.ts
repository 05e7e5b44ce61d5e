/** Where a caller can be reached after its connection is gone, such as a topic of a broker. */
import type { JsonObject } from '../json.ts'

/** It is stored with the call. It holds no credential. */
export interface ReplyAddress {
  /** The name of the carrier that can send to this address. */
  readonly carrier: string
  /** Only that carrier reads it. */
  readonly place: JsonObject
}
