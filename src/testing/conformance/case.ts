/** What a conformance case is, what it is run against, and the two ways it can end without being met. */

/**
 * The operations the cases call, by the part each one plays, under the name the protocol gives them. Each behaves as its
 * namesake of the quickstart does.
 */
export interface Fixtures {
  /** Adds the numbers `a` and `b` and returns the sum. Sync, no effects. */
  add: string
  /** Does what `add` does, and is deprecated with a sunset still to come. */
  deprecated: string
  /** Was sunset: listed no more. */
  removed: string
  /** The newer version of `removed`: greets `name`, returning `{ greeting }`. */
  successor: string
  /** Async: takes `month` (YYYY-MM) and `steps`, about 200 ms each; returns `{ month, rows }`. */
  report: string
  /** Chunked: `rows` lines of CSV after a header line. */
  chunked: string
  /** Takes a required attachment `file` (images, plain text, PDF) and returns `{ mimeType, bytes, sha256 }`. */
  describe: string
  /** Returns a file at an address of its own. Takes `radius`. */
  draw: string
  /** Has an effect and requires an idempotency key; takes `text`, returns `{ id, notes }`. */
  note: string
  /** Takes `doorbell_id`; fails in its domain for one it does not know. */
  ring: string
  /** Has the versions 1.0.0, 1.2.0 and 2.0.0, which take `text` and answer each in their own way. */
  versions: string
}

/** The server under test. */
export interface Target {
  /** Its root: `/call`, or `/tools/call`, is looked for under it. */
  url: string
  /** A bearer token that may call every operation named in `operations`. */
  token?: string
  /** Operations that play the parts, where they are not called what the quickstart calls them. */
  operations?: Partial<Fixtures>
}

export interface ConformanceCase {
  id: string
  title: string
  /** The numbered requirements that are broken if this case fails. */
  requirements: readonly string[]
  /** Throws `Unmet` if the server does otherwise, and `Skip` if that cannot be judged on this server. */
  run(target: Target): Promise<void>
}

/** The case cannot be judged on this server; the message says why. */
export class Skip extends Error {
  override readonly name = 'Skip'
}

/** The server does not do what the requirement says. */
export class Unmet extends Error {
  override readonly name = 'Unmet'
}
