/**
 * The hash of a request. It tells a repeated call from a reused id, and stands for the arguments in the audit trail. It is
 * computed on demand from the stored call: computing and storing it with every call took an eighth of a durable call.
 */

import { canonicalJson, type JsonValue } from '../json.ts'
import { nameIn } from '../operation/names.ts'
import type { Environment } from '../ports/runtime.ts'
import type { MediaInput } from './call.ts'
import type { Caller } from './caller.ts'
import type { Instance } from './instance.ts'

export type Digest = Environment['digest']

interface Asked {
  /** Uses the operation name as sent: a call with a version means that version, a call without one means any. */
  operation: string
  args: JsonValue
  media: readonly MediaInput[]
  caller: Pick<Caller, 'userId'>
}

export function fingerprintOf(digest: Digest, { operation, args, media, caller }: Asked): string {
  const attachments = media.map(({ name, mimeType, filename, source }) => [
    name,
    mimeType,
    source.kind === 'ref' ? source.uri : source.sha256,
    ...(filename === undefined ? [] : [filename]),
  ])
  const actor = caller.userId === undefined ? [] : [caller.userId]
  return digest(canonicalJson([operation, args, attachments, ...actor]))
}

type Stored = Pick<Instance, 'operation' | 'args' | 'media' | 'caller' | 'fingerprint'>

export function storedFingerprint(digest: Digest, instance: Stored): string {
  const { operation, args, media, caller, fingerprint } = instance
  return fingerprint ?? fingerprintOf(digest, { operation: nameIn(operation), args, media, caller })
}
