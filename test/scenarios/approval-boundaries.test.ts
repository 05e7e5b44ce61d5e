/** Approvals give no access to another tenant, do not bypass a scope or the audit trail, and cannot stop the server. */
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { createToken, operation } from 'callplane'
import { expect, onTestFinished, test } from 'vitest'
import type { ApprovalView } from '../../src/engine/admin/approval-view.ts'
import { onlyOne, openDesk, PEOPLE } from './approving.ts'
import { answered, startSite } from './server.ts'

function somebody(subject: string, tenant: string, scopes: readonly string[]) {
  const { token, hash } = createToken()
  const entry = { hash, kind: 'bearer' as const, subject, tenant, scopes }
  return { entry, headers: { headers: { Authorization: `Bearer ${token}` } } }
}

test('a tenant whose name begins like another one is another one', async () => {
  const eve = somebody('eve', 'acme', ['callplane:approve'])
  const ann = somebody('ann', 'acme/payments', ['callplane:approve'])
  const bob = somebody('bob', 'acme/payments', [])
  let ran = 0
  const pay = operation('v1:pay', { model: 'async', run: () => ++ran })
  const tokens = [eve.entry, ann.entry, bob.entry]
  const site = await startSite({ operations: [pay], auth: { tokens }, policy: { default: 'approve' } })
  const list = async (who: typeof eve, all: boolean) => {
    const { body } = await site.call('v1:callplane.approvals.list', { all }, undefined, who.headers)
    return (body.result as unknown as { approvals: ApprovalView[] }).approvals
  }
  await site.call('v1:pay', {}, undefined, bob.headers)
  const [approval] = await list(ann, false)
  const { id } = approval as ApprovalView

  const listed = [...(await list(eve, false)), ...(await list(eve, true))]
  const tried = [id, `payments/${id}`, `../acme%2Fpayments/${id}`].map((named) =>
    site.call('v1:callplane.approvals.decide', { id: named, verdict: 'approve' }, undefined, eve.headers),
  )
  const codes = (await Promise.all(tried)).map(({ body }) => body.error?.code)

  expect(listed).toEqual([])
  expect(codes).toEqual(['NOT_FOUND', 'NOT_FOUND', 'NOT_FOUND'])
  expect(ran).toBe(0)
})

test('* covers every scope except the administrative ones', async () => {
  const all = somebody('all', 'main', ['*'])
  const read = operation('v1:read', { scopes: ['orders:read'], run: () => 'read' })
  const site = await startSite({ operations: [read], auth: { tokens: [all.entry] } })

  const ordinary = await site.call('v1:read', {}, undefined, all.headers)
  const administering = await site.call('v1:callplane.approvals.list', {}, undefined, all.headers)
  const metrics = await site.request('/metrics', all.headers)

  expect(ordinary.body.result).toBe('read')
  expect(administering.body.error?.code).toBe('UNKNOWN_OP')
  expect(metrics.status).toBe(403)
})

test('when every slot is taken, there is still room to decide', async () => {
  const stuck = operation('v1:stuck', { model: 'async', run: (_args, ctx) => aborted(ctx.signal) })
  const held = operation('v1:orders.refund', { model: 'async', run: () => 'done' })
  const desk = await openDesk({ operations: [stuck, held], limits: { runningCalls: 1 } })
  await desk.refund(500)
  await desk.as('agent', 'v1:stuck')

  const { id } = await onlyOne(desk)
  const decided = await desk.decide(id, 'deny')

  expect(decided.body.result).toMatchObject({ status: 'denied' })
})

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
}

test('a decision that did not reach its call before the server ended reaches it at the next start', async () => {
  const first = await openDesk()
  const { requestId } = (await first.refund(500)).body
  const { id } = await onlyOne(first)
  const boss = { tenant: 'main', issuer: 'callplane', subject: 'boss', scopes: [] }
  await first.server.engine.approvals.decisions.decide(boss, id, 'approve')
  await first.close()

  const second = await openDesk({ data: first.data })
  const { body } = await second.outcome(requestId)

  expect(body).toMatchObject({ state: 'complete', result: { refunded: 500 } })
  expect(second.ran).toHaveLength(1)
})

test('a server that announces starts with more approvals waiting than a caller may have calls open', async () => {
  const desk = await openDesk()
  for (let amount = 101; amount < 106; amount++) await desk.refund(amount)
  await desk.close()
  process.env.CALLPLANE_SECRET_ANNOUNCE = 'a-secret-that-only-both-know'
  onTestFinished(() => void delete process.env.CALLPLANE_SECRET_ANNOUNCE)
  const heard = new Set<string>()
  const all = Promise.withResolvers<void>()
  // It never answers, so that every announcement stays an open call.
  const receiver = createServer(async (request) => {
    const { approval } = JSON.parse(await text(request))
    heard.add(approval.id)
    if (heard.size === 5) all.resolve()
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    receiver.closeAllConnections()
    receiver.close()
  })
  const { port } = receiver.address() as { port: number }

  const announce = { url: `http://127.0.0.1:${port}/`, secretRef: 'announce', allowPrivate: true }
  await openDesk({ data: desk.data, announce, limits: { openCallsPerCaller: 2 } })
  await all.promise

  expect(heard.size).toBe(5)
})

test('a call that is refused because there is no sandbox is in the audit trail, with its rule', async () => {
  const shell = operation('v1:shell', { risk: 'critical', run: () => 'harm' })
  const desk = await openDesk({ operations: [shell], policy: { default: 'allow' } })

  const refused = await desk.as('agent', 'v1:shell')
  const { body } = await desk.as('root', 'v1:callplane.audit.list', { operation: 'v1:shell@1.0.0' })

  expect(refused.body.error?.code).toBe('PANIC_ISOLATION_UNAVAILABLE')
  expect(body.result).toMatchObject({
    entries: [{ verdict: 'deny', rule: 'policy#isolation.critical', outcome: 'isolation-unavailable' }],
  })
})

test('the approver sees the attachments, and a call with referenced attachments is not held', async () => {
  const slots = [{ name: 'list', acceptedTypes: ['text/plain'], maxBytes: 1_000 }]
  const remove = operation('v1:remove', { model: 'async', media: slots, run: () => 'removed' })
  const files = createServer((_request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/plain', 'Content-Length': 3 }).end('all')
  })
  await new Promise<void>((resolve) => files.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void files.close())
  const at = `http://127.0.0.1:${(files.address() as { port: number }).port}`
  const references = { allowHosts: [at], allowPrivate: true }
  const desk = await openDesk({ operations: [remove], policy: { default: 'approve' }, references })
  const { headers } = PEOPLE.agent
  const form = new FormData()
  form.set(
    'envelope',
    JSON.stringify({ op: 'v1:remove', media: [{ name: 'list', mimeType: 'text/plain', part: 'p' }] }),
  )
  form.set('p', new Blob(['all'], { type: 'text/plain' }))

  const sent = await answered(await desk.request('/call', { method: 'POST', body: form, headers }))
  const approval = await onlyOne(desk)
  const media = [{ name: 'list', mimeType: 'text/plain', ref: `${at}/list` }]
  const referred = await desk.call('v1:remove', {}, undefined, { headers, envelope: { media } })

  expect(sent.status).toBe(202)
  expect(approval.attachments).toMatchObject([{ name: 'list', mimeType: 'text/plain', bytes: 3 }])
  expect(approval.attachments?.[0]?.sha256).toMatch(/^[0-9a-f]{64}$/)
  expect(referred.body.error?.code).toBe('ATTACHMENT_BY_REFERENCE')
})
