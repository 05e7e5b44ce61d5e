/**
 * The shared test suite for HTTP-shaped carriers. Pass your runner's `describe`, `test` and `expect`, and a function
 * that serves routes. The adapter itself tests sockets, framing and time limits.
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
  /** Base URL of the routes, without a trailing slash. */
  url: string
  send(path: string, init?: RequestInit): Promise<Response>
  cleanup(): Promise<void>
}

export type OpenCarrier = (routes: readonly Route[], options: CarrierOptions) => Promise<OpenedCarrier>

export interface CarrierTraits {
  /** False if the carrier learns at its next write only that a client reads no more, as over HTTP/3. Default: true. */
  noticesCancel?: boolean
}

/** Serves routes for one story, and closes the carrier after it. */
export type CarrierStory = (
  title: string,
  routes: readonly Route[],
  body: (carrier: OpenedCarrier) => Promise<void>,
  options?: Partial<CarrierOptions>,
) => void

export function describeCarrier(
  runner: TestRunner,
  name: string,
  open: OpenCarrier,
  { noticesCancel = true }: CarrierTraits = {},
): void {
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
    describeCarrierAnswers(runner, story, noticesCancel)
  })
}
