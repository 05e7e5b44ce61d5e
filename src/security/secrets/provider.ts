/** The shape of a secret, and the interface of a place that stores secrets. */

import { Fault } from '../../core/fault.ts'
import type { Secret } from '../../core/ports/secrets.ts'

export interface SecretProvider {
  /** The place where it looks for this secret, for messages. */
  place(name: string): string
  /** Reads the secret each time, or returns `undefined` if it does not exist. Errors must not contain a value. */
  read(name: string, signal: AbortSignal): Promise<Secret | undefined>
}

export const MAX_SECRET_BYTES = 64 * 1024

/** A name begins with a letter or a digit, so that it cannot be a hidden file, a path out of a folder, or a flag. */
export function isSecretName(name: string): boolean {
  return /^[a-z0-9][\w.-]{0,127}$/i.test(name)
}

/** Removes the line break at the end, which files and commands add. */
export function decodeSecretText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes).replace(/[\r\n]+$/, '')
  } catch {
    // The original error adds nothing, and a later version of it might show the bytes.
    throw unusableSecret('it is not UTF-8 text')
  }
}

/** `why` completes "The secret cannot be used: …". */
export function unusableSecret(why: string): Fault {
  return new Fault('secret-missing', `The secret cannot be used: ${why}.`)
}
