/** Keeps what providers granted, sealed, one for each person and provider, and renews it when its time is nearly over. */
import type { Environment } from '../../core/ports/runtime.ts'
import type { Vault, VaultChange } from '../secrets/vault.ts'
import type { Grant, OAuthClient } from './oauth.ts'

/** `holder` is the key of one person's grant at one provider. */
export interface Grants {
  get(holder: string): Promise<Held | undefined>
  /**
   * In place of what is held, unless that is good for more; `asked` are the scopes where the provider does not say which
   * it granted. Returns what is held from then on. `told` is written in the same commit: what it says is true then.
   */
  replace(holder: string, grant: Grant, asked: readonly string[], told: (held: Held) => VaultChange): Promise<Held>
  /** With a token that lasts a while; nothing if that cannot be had any more. */
  fresh(holder: string, held: Held, client: OAuthClient): Promise<Held | undefined>
  /** This token is not to be used again. */
  expire(holder: string, accessToken: string): Promise<void>
}

export interface Held {
  accessToken: string
  refreshToken?: string
  expiresAt?: number
  scopes: readonly string[]
  /** What the refresh token is good for, where it is from an earlier consent. */
  renewableScopes?: readonly string[]
}

/** A token that ends so soon might not last for what it is needed for. */
const EARLY_MS = 30_000
/** Longer than a provider usually takes: whoever renews and is killed keeps the others from it no longer. */
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

  /** Many calls may find a token old at once; a refresh token is good for one of them. */
  function renew(holder: string, held: Held, client: OAuthClient): Promise<Held | undefined> {
    const underWay = renewing.get(holder)
    if (underWay) return underWay
    const renewal = renewAlone(holder, held, client).finally(() => renewing.delete(holder))
    renewing.set(holder, renewal)
    return renewal
  }

  /** The same holds for several processes: one asks the provider, and the others see what it got. */
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
      // The mark runs out by the wall clock, which may have been set back since: nobody renews for longer than this.
      if (clock.monotonicMs() >= waitsUntil) await vault.remove(mark)
    }
    try {
      // It may have been done between the look at what is held and the mark.
      const current = await get(holder)
      return !current || isFresh(current) ? current : await renewOnce(holder, current, client)
    } finally {
      await unmark(mark, mine)
    }
  }

  /** Unless it took so long that somebody else has begun. What cannot be removed runs out. */
  async function unmark(mark: string, mine: string): Promise<void> {
    try {
      if ((await vault.get(mark)) === mine) await vault.remove(mark)
    } catch (err) {
      log.warn({ err }, 'the mark of a renewal could not be removed; others wait until it runs out')
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
      log.warn({ err, stillGood }, 'an authorization could not be renewed')
      if (stillGood) return held
      throw err
    }
    // Authorized anew, or renewed by another node, while the provider was asked: then that is what counts.
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
      // Or a renewal that is under way would write over it; how that ends is told to whoever waits for it.
      await Promise.allSettled([renewing.get(holder)])
      const held = await get(holder)
      const granted = heldOf({ scopes: asked, ...grant })
      // A person who answers an older, smaller question takes nothing back by it.
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

/** Some providers give a refresh token at the first consent only, and mean it to be kept. */
function withRefreshToken(granted: Held, { refreshToken, renewableScopes, scopes }: Held): Held {
  if (granted.refreshToken !== undefined || refreshToken === undefined) return granted
  return { ...granted, refreshToken, renewableScopes: renewableScopes ?? scopes }
}

export function covers(granted: readonly string[], needed: readonly string[]): boolean {
  return needed.every((scope) => granted.includes(scope))
}
