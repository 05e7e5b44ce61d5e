/** Stores the grants of providers, sealed, one per person and provider, and renews them shortly before they expire. */
import type { Environment } from '../../core/ports/runtime.ts'
import type { Vault, VaultChange } from '../secrets/vault.ts'
import type { Grant, OAuthClient } from './oauth.ts'

/** `holder` is the key of one person's grant at one provider. */
export interface Grants {
  get(holder: string): Promise<Held | undefined>
  /**
   * Replaces the held grant, unless the held one covers more. `asked` are the scopes if the provider does not name the
   * granted ones. Returns the grant held afterwards. The change that `told` returns is written in the same commit.
   */
  replace(holder: string, grant: Grant, asked: readonly string[], told: (held: Held) => VaultChange): Promise<Held>
  /** Returns the grant with a token that lasts a while, or `undefined` if it can no longer be renewed. */
  fresh(holder: string, held: Held, client: OAuthClient): Promise<Held | undefined>
  /** Marks this token as expired. */
  expire(holder: string, accessToken: string): Promise<void>
}

export interface Held {
  accessToken: string
  refreshToken?: string
  expiresAt?: number
  scopes: readonly string[]
  /** The scopes of the refresh token, if it comes from an earlier consent. */
  renewableScopes?: readonly string[]
}

/** A token that expires sooner might not last for its use. */
const EARLY_MS = 30_000
/** Longer than a provider usually takes. If the renewing process is killed, others wait no longer than this. */
const RENEWAL_MS = 60_000
const LOOK_EVERY_MS = 100

export function createGrants(
  { clock, log, newId }: Pick<Environment, 'clock' | 'log' | 'newId'>,
  vault: Vault,
): Grants {
  const renewing = new Map<string, Promise<Held | undefined>>()

  async function get(holder: string): Promise<Held | undefined> {
    const text = await vault.get(holder)
    return text === undefined ? undefined : (JSON.parse(text) as Held)
  }

  async function put(holder: string, held: Held): Promise<Held> {
    await vault.put(holder, JSON.stringify(held))
    return held
  }

  /** Many calls may find an expired token at once, but a refresh token can be used only once. */
  function renew(holder: string, held: Held, client: OAuthClient): Promise<Held | undefined> {
    const underWay = renewing.get(holder)
    if (underWay) return underWay
    const renewal = renewAlone(holder, held, client).finally(() => renewing.delete(holder))
    renewing.set(holder, renewal)
    return renewal
  }

  /** Also coordinates processes: one asks the provider, and the others read its result. */
  async function renewAlone(holder: string, held: Held, client: OAuthClient): Promise<Held | undefined> {
    if (held.refreshToken === undefined) return renewOnce(holder, held, client)
    const mark = `renewing/${holder}`
    const mine = newId()
    const waitsUntil = clock.monotonicMs() + RENEWAL_MS
    while (!(await vault.add(mark, mine, clock.now() + RENEWAL_MS))) {
      if (clock.now() < (held.expiresAt ?? 0)) return held
      await new Promise<void>((resolve) => clock.schedule(LOOK_EVERY_MS, resolve))
      const current = await get(holder)
      if (!current || isFresh(current)) return current
      // The mark expires by the wall clock, which may have been set back. No renewal takes longer than this.
      if (clock.monotonicMs() >= waitsUntil) await vault.remove(mark)
    }
    try {
      // Another process may have renewed the grant before this one set the mark.
      const current = await get(holder)
      return !current || isFresh(current) ? current : await renewOnce(holder, current, client)
    } finally {
      await unmark(mark, mine)
    }
  }

  /**
   * Removes the mark, unless the renewal took so long that another process has started one. A mark that cannot be
   * removed expires.
   */
  async function unmark(mark: string, mine: string): Promise<void> {
    try {
      if ((await vault.get(mark)) === mine) await vault.remove(mark)
    } catch (err) {
      log.warn({ err }, 'could not remove the mark of a renewal; other nodes wait until it expires')
    }
  }

  function isFresh({ expiresAt }: Held): boolean {
    return expiresAt === undefined || clock.now() < expiresAt - EARLY_MS
  }

  async function renewOnce(holder: string, held: Held, client: OAuthClient): Promise<Held | undefined> {
    const { refreshToken, expiresAt = 0 } = held
    const scopes = held.renewableScopes ?? held.scopes
    const stillGood = clock.now() < expiresAt
    let grant: Grant | undefined
    try {
      grant = refreshToken === undefined ? undefined : await client.refresh(refreshToken)
    } catch (err) {
      log.warn({ err, stillGood }, 'could not renew an authorization')
      if (stillGood) return held
      throw err
    }
    // If the person authorized again or another node renewed the grant during the request, that grant is used.
    const current = await get(holder)
    if (current?.accessToken !== held.accessToken) return current
    if (grant) return put(holder, heldOf({ ...(refreshToken !== undefined && { refreshToken }), scopes, ...grant }))
    if (refreshToken === undefined && stillGood) return held
    await vault.remove(holder)
    return undefined
  }

  function heldOf({ lifetimeMs, ...granted }: Grant & { scopes: readonly string[] }): Held {
    return { ...granted, ...(lifetimeMs !== undefined && { expiresAt: clock.now() + lifetimeMs }) }
  }

  function isUsable({ expiresAt, refreshToken }: Held): boolean {
    return refreshToken !== undefined || expiresAt === undefined || clock.now() < expiresAt
  }

  return {
    get,

    async replace(holder, grant, asked, told) {
      // Otherwise a renewal in progress would overwrite this grant. The caller that waits for the renewal receives its
      // error.
      await Promise.allSettled([renewing.get(holder)])
      const held = await get(holder)
      const granted = heldOf({ scopes: asked, ...grant })
      // Completing an older, smaller challenge does not remove scopes.
      const stays =
        held && isUsable(held) && covers(held.scopes, granted.scopes) && !covers(granted.scopes, held.scopes)
      const next = stays ? held : held ? withRefreshToken(granted, held) : granted
      await vault.write([told(next), ...(stays ? [] : [{ key: holder, value: JSON.stringify(next) }])])
      return next
    },

    async fresh(holder, held, client) {
      return isFresh(held) ? held : renew(holder, held, client)
    },

    async expire(holder, accessToken) {
      const held = await get(holder)
      if (held?.accessToken === accessToken) await put(holder, { ...held, expiresAt: 0 })
    },
  }
}

/** Some providers return a refresh token only at the first consent and expect clients to keep it. */
function withRefreshToken(granted: Held, { refreshToken, renewableScopes, scopes }: Held): Held {
  if (granted.refreshToken !== undefined || refreshToken === undefined) return granted
  return { ...granted, refreshToken, renewableScopes: renewableScopes ?? scopes }
}

export function covers(granted: readonly string[], needed: readonly string[]): boolean {
  return needed.every((scope) => granted.includes(scope))
}
