/**
 * Values that only this deployment can read: AES-256-GCM over the store's records. A sealed value is bound to the name
 * it is stored under, so that a row copied to another person's name cannot be opened there.
 */
import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto'
import { Fault } from '../../core/fault.ts'
import type { Sealer } from '../../core/ports/secrets.ts'
import type { RecordChange, Records } from '../../core/ports/store.ts'

export interface Vault extends Pick<Records, 'put' | 'add' | 'get' | 'remove'> {
  /** Writes all changes in one commit. */
  write(changes: readonly VaultChange[]): Promise<void>
  /**
   * Reads and removes a value, and writes the changes in the same commit. If two callers take the same value, only one
   * gets it.
   */
  takeAnd(name: string, changes: readonly VaultChange[]): Promise<string | undefined>
}

export interface VaultChange {
  key: string
  value: string
  expiresAt?: number
}

export interface VaultKeys {
  /** Seals and opens values; 32 bytes. */
  current: Uint8Array
  /** Open values that were sealed before the key was changed. */
  old?: readonly Uint8Array[]
}

const CIPHER = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

const VAULT_KEY_BYTES = 32

export function createSealer({ current, old = [] }: VaultKeys): Sealer {
  const currentId = keyId(current)
  const keys = new Map([current, ...old].map((key) => [keyId(key), key]))
  return {
    seal: (name, value) => sealValue(name, value, current, currentId),
    open: (name, sealed) => openValue(name, sealed, keys),
  }
}

export function createVault(records: Records, keys: VaultKeys): Vault {
  const sealer = createSealer(keys)
  const open = (name: string, sealed: string | undefined) =>
    sealed === undefined ? undefined : sealer.open(name, sealed)
  const seal = ({ key, value, ...rest }: VaultChange): RecordChange => ({
    key,
    value: sealer.seal(key, value),
    ...rest,
  })
  return {
    put: (name, value, expiresAt) => records.put(name, sealer.seal(name, value), expiresAt),
    add: (name, value, expiresAt) => records.add(name, sealer.seal(name, value), expiresAt),
    get: async (name) => open(name, await records.get(name)),
    remove: (name) => records.remove(name),
    write: async (changes) => void (await records.write(changes.map(seal))),
    async takeAnd(name, changes) {
      const sealed = await records.get(name)
      if (sealed === undefined) return undefined
      const taken = await records.write([{ key: name, expected: sealed }, ...changes.map(seal)])
      return taken ? open(name, sealed) : undefined
    },
  }
}

/** Format: `1.{key id}.{IV, tag and ciphertext}`. After a key change, the id selects the key that opens the value. */
function sealValue(name: string, value: string, key: Uint8Array, id: string): string {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv(CIPHER, key, iv).setAAD(Buffer.from(name, 'utf8'))
  const ciphertext = Buffer.concat([cipher.update(value, 'utf8'), cipher.final()])
  return `1.${id}.${Buffer.concat([iv, cipher.getAuthTag(), ciphertext]).toString('base64url')}`
}

function openValue(name: string, sealed: string, keys: ReadonlyMap<string, Uint8Array>): string {
  const [, id = '', content = ''] = /^1\.([0-9a-f]+)\.([\w-]+)$/.exec(sealed) ?? []
  const key = keys.get(id)
  if (id !== '' && !key) throw unknownKey(id, keys)
  try {
    if (!key) throw new Error('not a sealed value')
    const bytes = Buffer.from(content, 'base64url')
    const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
      .setAAD(Buffer.from(name, 'utf8'))
      .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
    return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
  } catch (cause) {
    throw new Fault(
      'internal',
      'A stored secret is damaged or was moved from another record. Ask the operator to remove it, then authorize again.',
      { code: 'VAULT_DAMAGED', cause },
    )
  }
}

function unknownKey(id: string, keys: ReadonlyMap<string, Uint8Array>): Fault {
  return new Fault(
    'unavailable',
    'The data that this server stored for you is sealed with another key. Ask its operator to restore that key.',
    {
      code: 'VAULT_KEY',
      retryable: false,
      developerMessage:
        `A record is sealed with the vault key ${id}, and this server has ${[...keys.keys()].join(', ')}. ` +
        'Add the earlier key to "vault.oldKeys".',
    },
  )
}

/** Identifies a key without revealing it: 48 bits of a hash over 256 bits. */
function keyId(key: Uint8Array): string {
  return hash('sha256', Buffer.concat([Buffer.from('callplane vault key'), key]), 'hex').slice(0, 12)
}

/** Accepts 32 bytes, or 64 hex digits, or base64. `where` names the option in the message. */
export function parseVaultKey(key: string | Uint8Array, where: string): Uint8Array {
  const bytes = typeof key === 'string' ? decodeKey(key.trim()) : key
  if (bytes?.length === VAULT_KEY_BYTES) return bytes
  throw new Fault(
    'malformed',
    `${where} must be ${VAULT_KEY_BYTES} bytes in hex or base64, for example from "openssl rand -base64 32".`,
    { code: 'VAULT_KEY' },
  )
}

function decodeKey(text: string): Uint8Array | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex')
  if (/^[\w+/-]{43}=?$/.test(text)) return Buffer.from(text, 'base64')
  return undefined
}
