/**
 * Runs an ended call again, as a new call. The id and the key of the new call are chosen before, so that a second try
 * finds the call of the first one. The policy decides again, and no earlier approval counts.
 */
import { type Call, correlate, type MediaInput } from '../../core/call/call.ts'
import type { Caller } from '../../core/call/caller.ts'
import type { Instance } from '../../core/call/instance.ts'
import type { Reply } from '../../core/call/reply.ts'
import { Fault } from '../../core/fault.ts'
import type { JsonValue } from '../../core/json.ts'
import { nameIn } from '../../core/operation/names.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { ObjectStore } from '../../core/ports/objects.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { RecordChange, Store } from '../../core/ports/store.ts'
import type { Admission } from '../admit/admission.ts'
import type { Admitted } from '../admit/admitted.ts'
import { hasEnded } from '../follow/waiting.ts'
import type { RunOptions } from '../record/recorder.ts'
import type { Registry } from '../registry.ts'

export interface ReplayingParts {
  env: Environment
  registry: Registry
  store: Store
  objects: ObjectStore
  admission: Admission
  maxObjectBytes: number
  run(admitted: Admitted, options: RunOptions): Reply | Promise<Reply>
}

export interface Replay {
  /** The id of the new call, which is also its request id. */
  id: string
  key: string
  /** For whom it runs. */
  caller: Caller
  /** Who replays it. */
  by: string
  /** Instead of the arguments of the first call. */
  args?: JsonValue
  /** Written with the new call. If their conditions fail, the replay is refused. */
  records: readonly RecordChange[]
}

export class Replaying {
  readonly #parts: ReplayingParts

  constructor(parts: ReplayingParts) {
    this.#parts = parts
  }

  newId(caller: Caller, owner: string): string {
    return this.#parts.env.newCallId(caller.tenant, owner)
  }

  /** Starts the new call, or finds that it was started before. Throws a fault if it is refused. */
  async start(original: Instance, replay: Replay): Promise<void> {
    const { store, admission, objects, run } = this.#parts
    if (await store.get(replay.id)) return
    const operation = this.#operationOf(original)
    requireReplayable(original, operation)
    await this.#requireBytes(original)
    const caller = await admission.admit(operation, () => replay.caller)
    const call = callOf(original, operation, replay)
    const checked = await admission.validate(operation, caller, call, { hold: true, freezes: true, renewed: true })
    let accepted = false
    try {
      const media = await this.#copyMedia(original, replay.id)
      const { id, by, records } = replay
      const askAgain = () => Promise.reject(alreadyReplayed(original))
      const admitted = { ...checked, id, media, replay: { of: original.id, by }, together: records, askAgain }
      await run(admitted, { ours: true, redelivers: true })
      accepted = true
    } finally {
      // A call that failed after it was accepted keeps its bytes.
      if (!accepted && original.media.length > 0 && !(await store.get(replay.id))) await objects.removeOwner(replay.id)
    }
  }

  /** The same version if it is still served, otherwise the current one. */
  #operationOf({ operation: key }: Instance): Operation {
    const { registry, env } = this.#parts
    const now = env.clock.now()
    const same = registry.byKey(key)
    return same && registry.isServed(same, now) ? same : registry.resolve(nameIn(key), now)
  }

  async #requireBytes({ media }: Instance): Promise<void> {
    for (const { name, source } of media) {
      if (source.kind === 'ref' || (await this.#parts.objects.info(source.objectId))) continue
      throw refused(
        'ATTACHMENT_GONE',
        `The attachment "${name}" is no longer stored. Make the call anew, with the file.`,
      )
    }
  }

  /** The bytes of the first call are removed with it, so the new call gets its own. */
  async #copyMedia({ id: from, media }: Instance, to: string): Promise<readonly MediaInput[]> {
    const { objects, maxObjectBytes: maxBytes } = this.#parts
    const copied: MediaInput[] = []
    for (const item of media) {
      const { mimeType, filename, source } = item
      if (source.kind === 'ref') {
        copied.push(item)
        continue
      }
      const objectId = to + source.objectId.slice(from.length)
      const named = filename !== undefined && { filename }
      const { bytes, sha256 } = await objects.put(objectId, objects.read(source.objectId), {
        mimeType,
        maxBytes,
        ...named,
      })
      copied.push({ ...item, source: { kind: 'object', objectId, bytes, sha256 } })
    }
    return copied
  }
}

function callOf(original: Instance, operation: Operation, { id, key, args = original.args }: Replay): Call {
  const { media, extras, locale } = original
  const call: Call = { operation: operation.key, args, media, requestId: id, idempotencyKey: key }
  correlate(call, { ...(locale !== undefined && { locale }) })
  if (extras?.terms) call.terms = extras.terms
  // The answers to fixed questions are part of the input. No client is here to answer others.
  if (extras?.asking) call.asking = { kinds: [], answers: extras.asking.answers }
  return call
}

function requireReplayable(original: Instance, operation: Operation): void {
  const { extras } = original
  if (operation.internal) throw refused('NOT_REPLAYABLE', 'An operation of the server itself cannot be replayed.')
  if (operation.stream) throw refused('NOT_REPLAYABLE', 'A stream cannot be replayed. Its reader must subscribe again.')
  if (!hasEnded(original)) throw refused('CALL_OPEN', 'The call has not ended. Cancel it, or wait for its end.')
  if (extras?.sealed || extras?.brought?.length) {
    throw refused('SECRETS_GONE', 'Secrets were sent with the call, and they are not kept. Its caller must call again.')
  }
}

function alreadyReplayed({ id }: Instance): Fault {
  return refused(
    'ALREADY_REPLAYED',
    `The call ${id} was replayed or dismissed already. Replay it by its id to run it again.`,
  )
}

function refused(code: string, message: string): Fault {
  return new Fault('conflict', message, { code })
}
