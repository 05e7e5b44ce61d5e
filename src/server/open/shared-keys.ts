/**
 * Servers on one store must have the same keys: what one seals or signs, all have to open and accept. The first server
 * leaves a digest of each key in the store, and a server with another key does not start. A digest says nothing about
 * its key.
 */
import { createHmac, createPrivateKey } from 'node:crypto'
import { Fault } from '../../core/fault.ts'
import type { Records } from '../../core/ports/store.ts'
import type { SigningOptions } from '../../security/signatures.ts'

interface KeyPair {
  current: Uint8Array
  old?: readonly Uint8Array[]
}

export interface SharedKeys {
  vault: KeyPair
  links?: KeyPair
  signing?: SigningOptions
}

export async function requireSameKeys(records: Records, { vault, links, signing }: SharedKeys): Promise<void> {
  await requireSame(records, 'vault', vault, VAULT)
  if (links) await requireSame(records, 'links', links, LINKS)
  if (!signing) return
  const key = createPrivateKey(signing.privateKey).export({ type: 'pkcs8', format: 'der' })
  // Verifiers find a key by its id, so a new key has a new id.
  await requireSame(
    records,
    `signing/${signing.keyId}`,
    { current: key },
    `The key "${signing.keyId}" for signing responses (signing.privateKey) is not the one that the other servers on this database use. Give all servers the same key, or give a new key a new signing.keyId.`,
  )
}

const VAULT =
  'The key of the vault is not the one that the other servers on this database use. Set CALLPLANE_VAULT_KEY to the same key everywhere, or copy vault.key from the data folder of one of them. To change the key, name the earlier one in vault.oldKeys.'
const LINKS =
  'The key for links is not the one that the other servers on this database use. Set CALLPLANE_LINK_KEY to the same key everywhere, or copy link.key from the data folder of one of them. To change the key, name the earlier one in links.oldKeys.'

async function requireSame(records: Records, name: string, { current, old = [] }: KeyPair, advice: string) {
  const record = `key-check/${name}`
  const digest = digestOf(current, name)
  if (await records.add(record, digest)) return
  const stored = await records.get(record)
  if (stored === digest) return
  const isChange = stored === undefined || old.some((key) => digestOf(key, name) === stored)
  if (!isChange) throw new Fault('unavailable', advice, { code: 'KEY_DIFFERS', retryable: false })
  await records.put(record, digest)
}

function digestOf(key: Uint8Array, name: string): string {
  return createHmac('sha256', key).update(`callplane key check: ${name}`).digest('hex')
}
