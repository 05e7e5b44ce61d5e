/** Breaches in the outcome of a call: names, keys, async outcomes. */
import { randomUUID } from 'node:crypto'
import { type Breach, breach, changeJson, changeSent, type Loose, letThrough, onEnvelope, onSent } from './breach.ts'

const bare = /^(?:v[-\d.]*:|V1:|:)?(?=Calculator)/

/** Applies one change after another to the responses to polls. */
function onPolls(title: string, cases: readonly string[], start: () => (envelope: Loose) => void): Breach {
  return breach(title, cases, () => {
    const change = start()
    return {
      answer(served, { method, path }) {
        if (method === 'GET' && /^\/ops\/[^/]+$/.test(path) && served.status < 300) changeJson(served, change)
      },
    }
  })
}

export const outcomeBreaches: readonly Breach[] = [
  onSent('names without a version are served', ['names-without-version'], (envelope) => {
    envelope.op = envelope.op.replace(bare, 'v1:')
  }),
  onSent('every version is the newest', ['versions-are-routes', 'lineages-start-at-v1'], (envelope) => {
    envelope.op = envelope.op.replace('v1:Greeter', 'v2:Greeter')
  }),
  onSent('a version that does not exist is the first', ['versions-are-routes'], (envelope) => {
    envelope.op = envelope.op.replace('v999:', 'v1:')
  }),
  onEnvelope('a removed operation was never there', ['lineages-start-at-v1'], (envelope, served) => {
    if (envelope.error?.code === 'OP_REMOVED') served.status = 400
  }),
  onEnvelope('what is removed is 404', ['status-codes', 'removed-operation'], (envelope, served) => {
    if (envelope.error?.code === 'OP_REMOVED') served.status = 404
  }),
  onEnvelope('a result elsewhere is 303 without a redirect', ['status-codes'], (envelope, served) => {
    if (served.status === 202 && envelope.state === 'complete') served.status = 303
  }),
  onEnvelope('OP_REMOVED is called GONE', ['removed-operation'], (envelope) => {
    if (envelope.error?.code === 'OP_REMOVED') envelope.error.code = 'GONE'
  }),
  onEnvelope('the replacement is not named', ['removed-operation'], (envelope) => {
    delete envelope.error?.cause?.replacement
  }),
  onSent('the deprecated is gone before its sunset', ['deprecated-is-served'], (envelope) => {
    envelope.op = envelope.op.replace('v1:Calculator.Sum', 'v1:Greeter.Hello')
  }),
  letThrough(['IDEMPOTENCY_KEY_REQUIRED'], ['key-required']),
  breach('what is refused for want of a key is done all the same', ['key-required'], () => ({
    request: (asked) =>
      changeSent(asked, (envelope) => {
        if (envelope.op === 'v1:Notes.Add') envelope.ctx = { idempotencyKey: randomUUID(), ...envelope.ctx }
      }),
    answer: (served, asked) =>
      changeJson(served, (envelope) => {
        if (!asked.body.includes('lost')) return
        served.status = 400
        envelope.state = 'error'
        envelope.error = { code: 'IDEMPOTENCY_KEY_REQUIRED', message: 'Send a key.' }
        delete envelope.result
      }),
  })),
  onSent('keys are ignored', ['key-repeated'], (envelope) => {
    if (envelope.ctx?.idempotencyKey) envelope.ctx.idempotencyKey = randomUUID()
  }),
  breach('results are kept by their arguments', ['effects-are-not-cached'], remembering('args', 'result')),
  breach(
    'a key freezes what comes next',
    ['key-on-a-query', 'key-per-operation'],
    remembering('ctx.idempotencyKey', 'result'),
  ),
  onEnvelope(
    'what is accepted is 200',
    ['async-accepted', 'status-codes', 'models-as-declared'],
    (envelope, served) => {
      if (envelope.state === 'accepted') served.status = 200
    },
  ),
  onEnvelope('what is accepted has no location', ['async-accepted', 'models-as-declared'], (envelope) => {
    if (envelope.state === 'accepted') delete envelope.location
  }),
  onEnvelope('location has no uri', ['async-accepted', 'complete-located'], (envelope) => {
    if (envelope.location) envelope.location = { href: envelope.location.uri }
  }),
  onEnvelope('a call starts as pending', ['async-accepted'], (envelope) => {
    if (envelope.state === 'accepted') envelope.state = 'pending'
  }),
  onEnvelope('expiresAt is missing', ['async-accepted', 'expiry-announced', 'sync-retained'], (envelope) => {
    delete envelope.expiresAt
  }),
  onEnvelope('expiresAt is missing while pending', ['expiry-announced'], (envelope) => {
    if (envelope.state === 'pending') delete envelope.expiresAt
  }),
  onEnvelope('expiresAt is a fraction', ['async-accepted', 'sync-retained'], (envelope) => {
    if (envelope.expiresAt) envelope.expiresAt += 0.5
  }),
  onEnvelope('expiresAt is in milliseconds', ['async-accepted', 'sync-retained'], (envelope) => {
    if (envelope.expiresAt) envelope.expiresAt *= 1000
  }),
  onEnvelope('expiresAt is a date', ['async-accepted', 'sync-retained'], (envelope) => {
    if (envelope.expiresAt) envelope.expiresAt = new Date(envelope.expiresAt * 1000).toISOString()
  }),
  onEnvelope('expiresAt is not what ttlSeconds says', ['expiry-announced', 'sync-retained'], (envelope) => {
    if (envelope.expiresAt) envelope.expiresAt += 3_600
  }),
  onEnvelope('retryAfterMs is a text', ['async-accepted'], (envelope) => {
    if (envelope.retryAfterMs) envelope.retryAfterMs = `${envelope.retryAfterMs}ms`
  }),
  onEnvelope('the address to poll does not hold the requestId', ['poll-address'], (envelope) => {
    if (envelope.state === 'accepted') envelope.location.uri = envelope.location.uri.replace(/[^/]+$/, 'latest')
  }),
  onEnvelope('all calls are polled at one address', ['an-instance-each'], (envelope) => {
    if (envelope.state === 'accepted') envelope.location.uri = '/ops/latest'
  }),
  onEnvelope('a poll is always 200', ['poll-status'], (_envelope, served, { method }) => {
    if (method === 'GET' && served.status === 202) served.status = 200
  }),
  onEnvelope('what is not ready is redirected', ['not-ready-is-not-redirected'], (envelope, served) => {
    if (envelope.state !== 'accepted') return
    served.status = 303
    served.headers.location = envelope.location.uri
  }),
  onEnvelope('nothing is ever pending', ['async-to-the-end'], (envelope) => {
    if (envelope.state === 'pending') envelope.state = 'accepted'
  }),
  onPolls('a state goes back', ['async-to-the-end'], () => {
    let shown = false
    return (envelope) => {
      if (envelope.state !== 'pending') return
      if (shown) envelope.state = 'accepted'
      shown = true
    }
  }),
  onPolls('the result is not in the last poll', ['async-to-the-end', 'an-instance-each'], () => (envelope) => {
    if (envelope.state === 'complete') envelope.result = {}
  }),
  onPolls('what was complete becomes an error', ['complete-is-final'], () => {
    let polls = 0
    return (envelope) => {
      if (envelope.state !== 'complete' || ++polls < 2) return
      delete envelope.result
      Object.assign(envelope, { state: 'error', error: { code: 'GONE', message: 'It is gone.' } })
    }
  }),
  onPolls('a result changes', ['complete-is-final', 'sync-retained'], () => (envelope) => {
    if (envelope.result) envelope.result.readAt = randomUUID()
  }),
  onEnvelope('what is not there is 400', ['nothing-there', 'no-such-object', 'status-codes'], (_envelope, served) => {
    if (served.status === 404) served.status = 400
  }),
  onEnvelope('a 429 does not say how long to wait', ['polling-too-often'], (envelope, { status }) => {
    if (status === 429) delete envelope.retryAfterMs
  }),
  breach('chunks are limited like polls', ['polling-too-often'], () => {
    let fetched = 0
    return {
      answer(served, { path }) {
        if (path.includes('/chunks') && ++fetched > 20) served.status = 429
      },
    }
  }),
]

/** Returns the first outcome for every request with the same value in that field. */
function remembering(key: 'args' | 'ctx.idempotencyKey', field: string): Breach['start'] {
  return () => {
    const known = new Map<string, Loose>()
    return {
      answer(served, asked) {
        if (asked.method !== 'POST' || served.status !== 200) return
        const { args, ctx } = JSON.parse(asked.body.toString())
        const id = JSON.stringify(key === 'args' ? args : (ctx?.idempotencyKey ?? randomUUID()))
        changeJson(served, (envelope) => {
          if (known.has(id)) envelope[field] = known.get(id)
          else known.set(id, envelope[field])
        })
      },
    }
  }
}
