/** Secrets in the server's own database, sealed: the store of `callplane secrets`. */
import { Fault } from '../../core/fault.ts'
import type { Secret } from '../../core/ports/secrets.ts'
import type { Records } from '../../core/ports/store.ts'
import { isSecretName, type SecretProvider } from './provider.ts'
import type { Vault } from './vault.ts'

export interface SecretStore {
  get(name: string): Promise<Secret | undefined>
  set(name: string, secret: Secret): Promise<void>
  /** Returns true if the secret existed. Works without the key that sealed it. */
  remove(name: string): Promise<boolean>
  /** Returns the sorted names. */
  list(): Promise<readonly string[]>
}

const PREFIX = 'secret/'
const PAGE = 500

export function createSecretStore(
  records: Pick<Records, 'list' | 'take'>,
  vault: Pick<Vault, 'get' | 'put'>,
): SecretStore {
  return {
    async get(name) {
      const text = await vault.get(PREFIX + name)
      return text === undefined ? undefined : (JSON.parse(text) as Secret)
    },
    async set(name, { value, fields }) {
      if (!isSecretName(name)) throw badSecretName(name)
      const secret: Secret = { ...(value !== undefined && { value }), ...(fields && { fields }) }
      await vault.put(PREFIX + name, JSON.stringify(secret))
    },
    remove: async (name) => (await records.take(PREFIX + name)) !== undefined,
    async list() {
      const names: string[] = []
      for (let after: string | undefined; ; ) {
        const page = await records.list(PREFIX, PAGE, after)
        names.push(...page.map(({ key }) => key.slice(PREFIX.length)))
        after = page.at(-1)?.key
        if (page.length < PAGE) return names
      }
    },
  }
}

/** Opened at the first lookup, because opening may create a key. */
export function createStoredSecrets(open: () => SecretStore): SecretProvider {
  return {
    place: () => 'the encrypted store',
    read: async (name) => open().get(name),
  }
}

export function badSecretName(name: string): Fault {
  return new Fault(
    'malformed',
    `"${name.slice(0, 128)}" cannot be the name of a secret; use letters, digits, ".", "-" and "_", a letter or digit first.`,
    { code: 'SECRET_NAME' },
  )
}
