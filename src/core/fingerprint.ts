/**
 * The hash over what was asked for: it tells a repeat from a reuse, and names the arguments in the trail, which does not
 * keep them. A stored call has all that goes into it, so it is made when somebody asks for it: making and storing it with
 * every call was an eighth of what a durable one costs.
 */

import type { MediaInput } from './call.ts'
import type { Caller } from './caller.ts'
import type { Instance } from './instance.ts'
import { canonicalJson, type JsonValue } from './json.ts'
import { nameIn } from './names.ts'
import type { Environment } from './ports/runtime.ts'

export type Digest = Environment['digest']

interface Asked {
  /** As it was asked for: whoever named a version meant that one, and whoever did not means all of them. */
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
