/**
 * Resolves the secrets that operations refer to. Each secret is read by name at each use, so that a changed secret
 * applies from the next call on. No value is cached here.
 */

import { resolve as resolvePath } from 'node:path'
import { Fault } from '../../core/fault.ts'
import type { Secret, SecretSource } from '../../core/ports/secrets.ts'
import { createCommandSecrets } from './command.ts'
import { createEnvironmentSecrets, type Variables } from './environment.ts'
import { createFileSecrets } from './files.ts'
import { isSecretName, type SecretProvider } from './provider.ts'
import { createStoredSecrets, type SecretStore } from './store.ts'

/** A configured place to look for secrets. */
export type SecretPlace =
  | { kind: 'env'; prefix?: string }
  | { kind: 'files'; folder: string }
  | { kind: 'store' }
  | { kind: 'command'; command: readonly string[]; timeoutMs?: number }

export interface SecretParts {
  env: Variables
  /** Relative paths in the configuration start here. */
  folder: string
  /** The store for `kind: 'store'`. It is opened when a secret is first looked up there. */
  store(): SecretStore
}

export const DEFAULT_PLACES: readonly SecretPlace[] = [{ kind: 'env' }, { kind: 'store' }]

/**
 * The first place that has the secret wins. A place that fails is not skipped, because the next one may have a
 * different secret.
 */
export function createSecrets(places: readonly SecretPlace[], parts: SecretParts): SecretSource {
  const providers = places.map((place, at) => createProvider(place, parts, `secrets[${at}]`))
  return {
    async resolve(name, signal) {
      if (!isSecretName(name))
        throw missing(name, 'This is not a valid name of a secret: correct it in auth.secretRef.')
      for (const provider of providers) {
        const secret = await read(provider, name, signal)
        if (secret) return secret
      }
      throw missing(name, `It is not in ${listed(providers.map((provider) => provider.place(name)))}. Put it there.`)
    },
  }
}

const FIELDS: Record<SecretPlace['kind'], readonly string[]> = {
  env: ['prefix'],
  files: ['folder'],
  store: [],
  command: ['command', 'timeoutMs'],
}

function createProvider(place: SecretPlace, { env, folder, store }: SecretParts, where: string): SecretProvider {
  if (!Object.hasOwn(FIELDS, place.kind)) {
    throw wrong(`${where}.kind must be one of ${Object.keys(FIELDS).join(', ')}.`)
  }
  const extra = Object.keys(place).find((field) => field !== 'kind' && !FIELDS[place.kind].includes(field))
  if (extra !== undefined) throw wrong(`${where} is of kind ${place.kind}, which has no "${extra}". Remove it.`)
  switch (place.kind) {
    case 'env':
      if (place.prefix !== undefined && !/^[A-Z_]\w*$/i.test(place.prefix)) {
        throw wrong(`${where}.prefix must be a prefix for names of environment variables, such as CALLPLANE_SECRET_.`)
      }
      return createEnvironmentSecrets(env, place.prefix)
    case 'files':
      if (!isText(place.folder)) throw wrong(`${where}.folder is missing: name the folder, such as /run/secrets.`)
      return createFileSecrets(resolvePath(folder, place.folder))
    case 'store':
      return createStoredSecrets(store)
    case 'command':
      return createCommandSecrets({ ...checkCommand(place, where), env, folder })
  }
}

function checkCommand({ command, timeoutMs }: SecretPlace & { kind: 'command' }, where: string) {
  if (!Array.isArray(command) || command.length === 0 || !command.every(isText)) {
    throw wrong(`${where}.command must be a list of the program and its arguments, such as ["pass", "show"].`)
  }
  if (timeoutMs === undefined) return { command }
  if (!(timeoutMs >= 1 && timeoutMs <= 600_000)) throw wrong(`${where}.timeoutMs must be from 1 to 600000.`)
  return { command, timeoutMs }
}

async function read(provider: SecretProvider, name: string, signal: AbortSignal): Promise<Secret | undefined> {
  try {
    return await provider.read(name, signal)
  } catch (thrown) {
    if (signal.aborted) throw stopped(signal)
    throw unreadable(name, provider.place(name), thrown)
  }
}

/** Other errors may contain secrets, so only the error's code is used. */
function unreadable(name: string, place: string, thrown: unknown): Fault {
  if (thrown instanceof Fault) {
    return missing(name, `Looked for in ${place}. ${thrown.message}`, thrown.developerMessage)
  }
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'no code'
  return missing(name, `It cannot be read from ${place} (${code}). Check that the server may read it.`)
}

function missing(name: string, why: string, developerMessage?: string): Fault {
  const shown = name.slice(0, 128)
  return new Fault('secret-missing', `The secret "${shown}" is not available. ${why}`, {
    details: { secret_ref: shown },
    ...(developerMessage !== undefined && { developerMessage }),
  })
}

function stopped(signal: AbortSignal): Fault {
  return signal.reason instanceof Fault ? signal.reason : new Fault('canceled', 'The call was stopped; send it again.')
}

function listed(places: readonly string[]): string {
  return places.length > 0 ? places.join(', nor in ') : 'any place: none is configured in "secrets"'
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function wrong(message: string): Fault {
  return new Fault('malformed', message, { code: 'INVALID_SECRETS' })
}
