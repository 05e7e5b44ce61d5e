/**
 * Who the peer of a session is. The last accepted `auth` block also applies to later envelopes, so that a peer can
 * refresh its token.
 */
import type { Caller } from '../../../core/call/caller.ts'
import type { Identify, Presented, PresentedAuth } from '../../../core/ports/guard.ts'
import { presentedWith } from './credentials.ts'

export class PeerIdentity {
  readonly #identify: (presented: Presented) => Identify
  readonly #peer: Presented
  #auth: PresentedAuth | undefined
  #checking: Promise<void> | undefined

  constructor(identify: (presented: Presented) => Identify, peer: Presented) {
    this.#identify = identify
    this.#peer = peer
  }

  /**
   * Envelopes without `auth` wait until an earlier `auth` is checked, so that a peer need not wait for its first
   * response.
   */
  of(auth: PresentedAuth | undefined): Identify {
    if (auth) return this.#check(auth)
    const checking = this.#checking
    if (!checking) return this.#identify(presentedWith(this.#peer, this.#auth))
    return () => checking.then(() => this.#identify(presentedWith(this.#peer, this.#auth))())
  }

  #check(auth: PresentedAuth): Identify {
    const identified = this.#identifyNow(auth)
    const before = this.#checking
    if (!(identified instanceof Promise) && !before) {
      this.#auth = auth
      return () => identified
    }
    const checking = Promise.allSettled([identified, before]).then(([{ status }]) => {
      if (status === 'fulfilled') this.#auth = auth
      if (this.#checking === checking) this.#checking = undefined
    })
    this.#checking = checking
    return () => identified
  }

  #identifyNow(auth: PresentedAuth): Caller | undefined | Promise<Caller | undefined> {
    try {
      return this.#identify(presentedWith(this.#peer, auth))()
    } catch (thrown) {
      return Promise.reject(thrown)
    }
  }
}
