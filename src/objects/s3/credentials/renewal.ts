/**
 * Keeps the current credentials and renews them before they expire, once for all concurrent requests. They are added to
 * the redactor before they are used, so that no log line can show them.
 */
import { Fault } from '../../../core/fault.ts'
import type { Clock, Log } from '../../../core/ports/runtime.ts'
import type { S3CredentialProvider, S3Credentials } from './source.ts'

export interface CurrentCredentials {
  get(): Promise<S3Credentials>
  /** S3 refused these: the next `get` asks the provider again. */
  outdated(refused: S3Credentials): void
}

export interface RenewalParts {
  provider: S3CredentialProvider
  clock: Pick<Clock, 'now'>
  log: Pick<Log, 'warn'>
  conceal(value: string): () => void
}

/** Renewed in the background this long before they expire. */
const RENEW_BEFORE_MS = 300_000
/** Below this, a request could arrive after they have expired, so it waits for new ones. */
const UNUSABLE_BEFORE_MS = 15_000
/** Between two tries to renew in the background. */
const TRY_AGAIN_MS = 10_000

export function createRenewal({ provider, clock, log, conceal }: RenewalParts): CurrentCredentials {
  let current: S3Credentials | undefined
  let renewing: Promise<S3Credentials> | undefined
  let nextTryAt = 0
  let reveal: (() => void)[] = []

  function renew(): Promise<S3Credentials> {
    renewing ??= ask(provider)
      .then((fresh) => {
        const before = reveal
        const { secretAccessKey, sessionToken } = fresh
        reveal = [secretAccessKey, ...(sessionToken === undefined ? [] : [sessionToken])].map(conceal)
        for (const end of before) end()
        current = fresh
        return fresh
      })
      .finally(() => {
        renewing = undefined
      })
    return renewing
  }

  return {
    async get() {
      const leftMs = (current?.expiration?.getTime() ?? Number.POSITIVE_INFINITY) - clock.now()
      if (!current || leftMs < UNUSABLE_BEFORE_MS) return renew()
      if (leftMs < RENEW_BEFORE_MS && clock.now() >= nextTryAt) {
        nextTryAt = clock.now() + TRY_AGAIN_MS
        renew().catch((err: unknown) => log.warn({ err }, 'could not renew the credentials of the object storage'))
      }
      return current
    },
    outdated(refused) {
      if (current === refused) current = undefined
    },
  }
}

/** Providers are code of others: their errors must not show what they read, and their values must fit in a header. */
async function ask(provider: S3CredentialProvider): Promise<S3Credentials> {
  const { accessKeyId, secretAccessKey, sessionToken, expiration } = await provider()
  const fields = [accessKeyId, secretAccessKey, ...(sessionToken === undefined ? [] : [sessionToken])]
  if (!fields.every((field) => typeof field === 'string' && /^[!-~]+$/.test(field))) {
    throw new Fault('malformed', 'The credentials of the object storage are not valid. Check where they come from.', {
      code: 'CREDENTIALS_MISSING',
    })
  }
  return {
    accessKeyId,
    secretAccessKey,
    ...(sessionToken !== undefined && { sessionToken }),
    ...(expiration !== undefined && { expiration: new Date(expiration) }),
  }
}
