/**
 * A server ends after each single write of an authorization. The person can finish it or is asked again, and knows
 * which.
 */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Caller } from '../../../src/core/call/caller.ts'
import { createAuthorizations } from '../../../src/security/consent/authorizations.ts'
import type { OAuthClient } from '../../../src/security/consent/oauth.ts'
import { createVault } from '../../../src/security/secrets/vault.ts'
import { createSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { createManualClock } from '../../../src/testing/fakes/clock.ts'
import { createRunEnvironment } from '../../../src/testing/run-operation/run-environment.ts'
import { temporaryFolder } from '../../stores/folder.ts'
import { Death, mortalStore } from './death.ts'

const ADA: Caller = { tenant: 'main', issuer: 'tokens', subject: 'ada', scopes: [] }
const ORIGIN = 'https://tools.example'

const PROVIDER: OAuthClient = {
  scopes: [],
  redirectUri: undefined,
  authorizationUrl: async ({ state }) => `https://provider.example/?state=${state}`,
  exchange: async () => ({ accessToken: 'a-token' }),
  refresh: async () => undefined,
}

function start(file: string, death: Death) {
  const clock = createManualClock()
  const store = createSqliteStore({ file, clock })
  const { records } = mortalStore(store, death)
  const vault = createVault(records, { current: Buffer.alloc(32, 1) })
  const env = createRunEnvironment([], clock)
  const service = createAuthorizations(new Map([['hub', PROVIDER]]), { env, vault, anonymous: false })
  const ask = async () => {
    const [challenge] = await service.challenge(ADA, [{ id: 'hub' }], ORIGIN)
    return { query: new URL(challenge?.url ?? '').search.slice(1), id: challenge?.checkUrl.split('/').at(-2) ?? '' }
  }
  return { service, ask, token: () => service.token(ADA, 'hub', []), close: store.close }
}

test('whenever the server ends, a person who is asked can answer, and a grant that is held is said to be', async () => {
  for (let after = 1, died = true; died; after++) {
    const file = join(temporaryFolder(), 'calls.db')
    const death = new Death(after)
    const dying = start(file, death)
    let asked: { query: string; id: string } | undefined
    const story = async () => {
      asked = await dying.ask()
      await dying.service.complete(asked.query)
    }
    await Promise.race([story(), death.happened])
    died = death.isDead
    await dying.close()

    const next = start(file, new Death())
    const held = (await next.token()) !== undefined
    if (asked) expect([after, (await next.service.status(asked.id)) === 'completed']).toEqual([after, held])
    const again = held || (await next.service.complete((await next.ask()).query))
    expect([after, again, await next.token()]).toEqual([after, true, 'a-token'])
    await next.close()
  }
})
