/** `callplane/client` or `callplane/client/calls`, from the sources, with their defaults. */
import { createClient as createSmall } from '../../src/client/calls.ts'
import { createClient } from '../../src/client/index.ts'
import type { Pair } from './add-checks.ts'
import type { ADD } from './add-schemas.ts'
import { addressOf, clientOf } from './client.ts'
import type { Contender } from './contender.ts'

interface Operations {
  [ADD]: { args: Pair; result: number }
}

export const start: Contender = async (options) => {
  const url = addressOf(options)
  if (options.bare) {
    const api = createSmall<Operations>({ url })
    return clientOf((a, b) => api.Calculator.Add({ a, b }))
  }
  const api = createClient<Operations>({ url })
  return clientOf((a, b) => api.Calculator.Add({ a, b }))
}
