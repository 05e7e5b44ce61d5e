/** What a secret is, and what a place that keeps secrets has to offer. */

import { Fault } from '../../core/fault.ts'
import type { Secret } from '../../core/ports/secrets.ts'

export interface SecretProvider {
  /** Where it looks for this one, for messages. */
  place(name: string): string
  /** Read anew each time; nothing if it is not there. What it throws names no value. */
  read(name: string, signal: AbortSignal): Promise<Secret | undefined>
}

export const MAX_SECRET_BYTES = 64 * 1024

/** Begins with a letter or a digit, so that it is neither a hidden file, nor a way out of a folder, nor a flag. */
export function isSecretName(name: string): boolean {
  return /^[a-z0-9][\w.-]{0,127}$/i.test(name)
}

/** Files and commands end their output with a line break that is not part of it. */
export function decodeSecretText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes).replace(/[\r\n]+$/, '')
  } catch {
    // The error's own text adds nothing, and might show the bytes one day.
    throw unusableSecret('it is not UTF-8 text')
  }
}

/** `why` completes "The secret cannot be used: …". */
export function unusableSecret(why: string): Fault {
  return new Fault('secret-missing', `The secret cannot be used: ${why}.`)
}
