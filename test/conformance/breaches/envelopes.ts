/** Breaches of the endpoint and of the envelopes. */
import { randomUUID } from 'node:crypto'
import { type Breach, letThrough, onAnswer, onEnvelope, onRequest, refuseIf } from './breach.ts'

const refused = (status: number) => status >= 400

export const envelopeBreaches: readonly Breach[] = [
  onEnvelope('requestId is missing', ['envelope-of-every-answer', 'call-example'], (envelope) => {
    delete envelope.requestId
  }),
  onEnvelope("requestId is not the caller's", ['request-id-echoed', 'call-example'], (envelope) => {
    envelope.requestId = randomUUID()
  }),
  onEnvelope('generated ids are no UUIDs', ['request-id-generated', 'request-id-in-refusals'], (envelope) => {
    envelope.requestId = `req-${envelope.requestId}`
  }),
  onEnvelope("a refusal forgets the caller's requestId", ['request-id-echoed'], (envelope, { status }) => {
    if (refused(status)) envelope.requestId = randomUUID()
  }),
  onEnvelope('sessionId is missing', ['session-echoed', 'call-example'], (envelope) => {
    delete envelope.sessionId
  }),
  onEnvelope('sessionId is missing in refusals', ['session-echoed'], (envelope, { status }) => {
    if (refused(status)) delete envelope.sessionId
  }),
  onEnvelope('a sessionId is made up', ['session-echoed'], (envelope) => {
    envelope.sessionId ??= randomUUID()
  }),
  onEnvelope('there is an error beside the result', ['complete-inline', 'envelope-of-every-answer'], (envelope) => {
    if ('result' in envelope) envelope.error = { code: 'NONE', message: 'There is no error.' }
  }),
  onEnvelope('there is a location beside an error', ['domain-failure', 'envelope-of-every-answer'], (envelope) => {
    if (envelope.error) envelope.location = { uri: '/elsewhere' }
  }),
  onEnvelope('the result is missing', ['complete-inline', 'one-contract-for-all-callers'], (envelope) => {
    delete envelope.result
  }),
  onEnvelope('there is a result with state accepted', ['envelope-of-every-answer'], (envelope) => {
    if (envelope.state !== 'accepted') return
    delete envelope.location
    envelope.result = null
  }),
  onEnvelope('a state that nobody knows', ['envelope-of-every-answer', 'commands-and-queries'], (envelope) => {
    if (envelope.state === 'complete') envelope.state = 'done'
  }),
  onEnvelope('an error is a mere text', ['envelope-of-every-answer', 'domain-failure'], (envelope) => {
    if (envelope.error) envelope.error = envelope.error.message
  }),
  onEnvelope('an error has no code', ['envelope-of-every-answer', 'domain-failure'], (envelope) => {
    delete envelope.error?.code
  }),
  onEnvelope('the cause of an error is a list', ['envelope-of-every-answer', 'domain-failure'], (envelope) => {
    if (envelope.error) envelope.error.cause = ['because']
  }),
  onEnvelope('the envelope is signed', ['no-signature-in-the-envelope'], (envelope) => {
    envelope.signature = 'c2lnbmVk'
  }),
  onAnswer('answers are text/plain', ['always-json', 'call-example'], (served) => {
    served.headers['content-type'] = 'text/plain'
  }),
  onAnswer('a browser gets a page', ['always-json', 'one-contract-for-all-callers'], (served, { headers }) => {
    if (!headers.accept?.startsWith('text/html')) return
    served.headers['content-type'] = 'text/html'
    served.body = Buffer.from('<!doctype html><title>Result</title>')
  }),
  onAnswer('refusals have no body', ['never-without-information', 'nothing-there'], (served) => {
    if (refused(served.status)) served.body = Buffer.alloc(0)
  }),
  onEnvelope('every refusal is "Bad Request"', ['never-without-information'], (envelope, { status }) => {
    if (refused(status)) envelope.error = { code: 'ERROR', message: 'Bad Request' }
  }),
  onEnvelope('every refusal is told in the same words', ['never-without-information'], (envelope, { status }) => {
    if (refused(status)) envelope.error.message = 'There was a problem, that is all we know.'
  }),
  onAnswer('answers may be kept', ['call-is-not-cacheable'], (served) => {
    served.headers['cache-control'] = 'public, max-age=60'
  }),
  onAnswer('GET /call is 404', ['call-takes-post-only', 'status-codes'], (served) => {
    if (served.status === 405) served.status = 404
  }),
  onAnswer('Allow is missing', ['call-takes-post-only', 'methods-of-every-endpoint'], (served) => {
    delete served.headers.allow
  }),
  onEnvelope('a 405 does not say where to go', ['call-takes-post-only'], (envelope, { status }) => {
    if (status === 405) envelope.error.message = 'This method is not allowed here.'
  }),
  onAnswer('a method that is not there is 501', ['methods-of-every-endpoint'], (served) => {
    if (served.status === 405) served.status = 501
  }),
  onRequest('commands have an endpoint of their own', ['commands-and-queries'], (asked) => {
    if (asked.body.includes('Notes.Add')) asked.path = '/command'
  }),
  onEnvelope('an unknown operation is 404', ['unknown-operation', 'status-codes'], (envelope, served) => {
    if (envelope.error?.code === 'UNKNOWN_OP') served.status = 404
  }),
  letThrough(['VALIDATION_ERROR'], ['args-validated', 'args-absent']),
  letThrough(['INVALID_REQUEST', 'INVALID_JSON', 'INVALID_UTF8'], ['malformed', 'op-required']),
  onEnvelope('nobody says which argument is wrong', ['args-validated'], (envelope) => {
    if (envelope.error) envelope.error = { code: envelope.error.code, message: 'Something in there is not right.' }
  }),
  refuseIf('args must always be sent', ['args-absent'], ({ args }) => args === undefined),
  refuseIf('unknown fields are refused', ['unknown-fields'], ({ fromTheFuture }) => fromTheFuture !== undefined),
  refuseIf('unknown locales are refused', ['locale'], ({ ctx }) => ctx?.locale === 'no-such-locale'),
  refuseIf('an auth block must have a credential', ['auth-block-is-optional'], ({ auth }) => auth && !auth.credential),
  onEnvelope('a business failure is 422', ['domain-failure', 'status-codes'], (envelope, served) => {
    if (served.status === 200 && envelope.state === 'error') served.status = 422
  }),
  onEnvelope('a business failure is a result', ['domain-failure'], (envelope) => {
    if (envelope.error?.code !== 'DOORBELL_NOT_FOUND') return
    Object.assign(envelope, { state: 'complete', result: envelope.error })
    delete envelope.error
  }),
]
