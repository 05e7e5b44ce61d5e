/**
 * What every HTTP-shaped carrier must do, as tests that any adapter can run: hand in your runner's `describe`, `test`
 * and `expect`, and a function that puts routes behind it. Sockets, framing and time limits are the adapter's own to test.
 */
import type { Refuse, Route } from '../../../core/ports/exchange.ts'
import type { Log } from '../../../core/ports/runtime.ts'
import type { SiteOptions } from '../../../wire/http/site-rules.ts'
import type { TestRunner } from '../runner.ts'
import { describeCarrierAnswers } from './answers.ts'
import { refusePlainly } from './content.ts'
import { describeCarrierRequests } from './requests.ts'
import { describeCarrierRoutes } from './routes.ts'

export interface CarrierOptions extends SiteOptions {
  fallback: Refuse
  log?: Log
}

export interface OpenedCarrier {
  /** How the routes are reached, without a slash at the end. */
  url: string
  send(path: string, init?: RequestInit): Promise<Response>
  cleanup(): Promise<void>
}

export type OpenCarrier = (routes: readonly Route[], options: CarrierOptions) => Promise<OpenedCarrier>

/** Puts routes behind the carrier for one story, and takes them away after it. */
export type CarrierStory = (
  title: string,
  routes: readonly Route[],
  body: (carrier: OpenedCarrier) => Promise<void>,
  options?: Partial<CarrierOptions>,
) => void

export function describeCarrier(runner: TestRunner, name: string, open: OpenCarrier): void {
  const story: CarrierStory = (title, routes, body, options) => {
    runner.test(title, async () => {
      const carrier = await open(routes, { fallback: refusePlainly, ...options })
      try {
        await body(carrier)
      } finally {
        await carrier.cleanup()
      }
    })
  }
  runner.describe(name, () => {
    describeCarrierRoutes(runner, story)
    describeCarrierRequests(runner, story)
    describeCarrierAnswers(runner, story)
  })
}
