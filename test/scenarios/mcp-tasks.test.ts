/** MCP's Tasks extension: calls that take long, that survive a restart of the server, and that wait for a person. */
import { createToken, operation } from 'callplane'
import { describe, expect, test } from 'vitest'
import { browse, CLIENT, startOAuthServer } from '../security/oauth-server.ts'
import { onlyOne, openDesk, PEOPLE, policy } from './approving.ts'
import { type Asking, ask, askOlder, type Result, WITH_TASKS } from './mcp.ts'
import { createGate, createStepClock, type Site, startSite, temporaryFolder } from './server.ts'

const call = (site: Site, name: string, args: object = {}, asking: Asking = {}) =>
  ask(site, 'tools/call', { name, arguments: args }, { capabilities: WITH_TASKS, ...asking })

const get = (site: Site, taskId: string, asking: Asking = {}) =>
  ask(site, 'tasks/get', { taskId }, { capabilities: WITH_TASKS, ...asking })

/** Asks until the task is as wanted. */
async function until(site: Site, taskId: string, status: string, asking: Asking = {}): Promise<Result> {
  for (;;) {
    const { json } = await get(site, taskId, asking)
    if (json.result.status === status) return json.result
    expect(['working', 'input_required']).toContain(json.result.status)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

const UNLIMITED = { limits: { pollBurst: 10_000 } }

function reporting(gate: ReturnType<typeof createGate>) {
  return operation('v1:reports.make', {
    model: 'async',
    run: async (_, ctx) => {
      ctx.progress(0.5, 'half way')
      return gate.pass()
    },
  })
}

describe('an async operation', () => {
  test('becomes a task at once, says how far it is, and gives its result for as long as it is kept', async () => {
    const gate = createGate()
    const site = await startSite({ operations: [reporting(gate)], ...UNLIMITED })

    const { json: created } = await call(site, 'reports_make')
    const { taskId } = created.result
    await gate.began
    const working = await get(site, taskId)
    gate.open({ rows: 3 })
    const done = await until(site, taskId, 'completed')
    const again = await get(site, taskId)

    expect(created.result).toMatchObject({ resultType: 'task', status: 'working' })
    expect(created.result.ttlMs).toBeGreaterThanOrEqual(86_400_000)
    expect(created.result.createdAt).toMatch(/^\d{4}-\d\d-\d\dT/)
    expect(created.result).not.toHaveProperty('result')
    expect(working.json.result).toMatchObject({ resultType: 'complete', taskId, status: 'working' })
    expect(done.result).toEqual({
      resultType: 'complete',
      content: [{ type: 'text', text: '{"rows":3}' }],
      structuredContent: { rows: 3 },
    })
    expect(again.json.result).toEqual(done)
  })

  test('survives the server: the next one finishes it under the same id', async () => {
    const gate = createGate()
    const data = temporaryFolder()
    const clock = createStepClock()
    const before = await startSite({ operations: [reporting(gate)], data, clock, ...UNLIMITED })
    const { json } = await call(before, 'reports_make')
    await gate.began
    await clock.passing(before.close())
    gate.open('finished later')

    const after = await startSite({ operations: [reporting(gate)], data, clock, ...UNLIMITED })
    const done = await clock.passing(until(after, json.result.taskId, 'completed'))

    expect(done.result.content[0].text).toBe('finished later')
  })

  test('is canceled by its id, and canceling what has ended changes nothing', async () => {
    const stopped = Promise.withResolvers<void>()
    const endless = operation('v1:it.waits', {
      model: 'async',
      run: (_, ctx) =>
        new Promise((_resolve, reject) => {
          ctx.signal.addEventListener('abort', () => {
            stopped.resolve()
            reject(ctx.signal.reason)
          })
        }),
    })
    const site = await startSite({ operations: [endless], ...UNLIMITED })
    const { taskId } = (await call(site, 'it_waits')).json.result
    const cancel = () => ask(site, 'tasks/cancel', { taskId }, { capabilities: WITH_TASKS })

    expect((await cancel()).json.result).toEqual({ resultType: 'complete' })
    await stopped.promise
    expect((await get(site, taskId)).json.result.status).toBe('cancelled')
    expect((await cancel()).json.result).toEqual({ resultType: 'complete' })
    expect((await get(site, taskId)).json.result.status).toBe('cancelled')
  })

  test('that fails in its domain is completed with an error for the model; one that throws has failed', async () => {
    const says = operation('v1:it.fails', { model: 'async', run: (_, ctx) => ctx.fail('NO_STOCK', 'None are left.') })
    const breaks = operation('v1:it.breaks', {
      model: 'async',
      run: () => {
        throw new Error('password=hunter2')
      },
    })
    const site = await startSite({ operations: [says, breaks], ...UNLIMITED })
    const said = await until(site, (await call(site, 'it_fails')).json.result.taskId, 'completed')
    expect(said.result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('None are left.') }] })
    const broke = await until(site, (await call(site, 'it_breaks')).json.result.taskId, 'failed')
    expect(broke.error.code).toBe(-32603)
    expect(broke).not.toHaveProperty('result')
    expect(JSON.stringify(broke)).not.toContain('hunter2')
  })
})

test('a sync operation that overruns becomes a task as well', async () => {
  const gate = createGate()
  const slow = operation('v1:it.dawdles', { maxSyncMs: 20, run: () => gate.pass() })
  const site = await startSite({ operations: [slow], ...UNLIMITED })
  const { json } = await call(site, 'it_dawdles')
  expect(json.result).toMatchObject({ resultType: 'task', status: 'working' })
  gate.open('there')
  const done = await until(site, json.result.taskId, 'completed')
  expect(done.result.structuredContent).toBe('there')
})

test('a task of another caller is not found, like an unknown task', async () => {
  const people = ['ann', 'ben'].map((subject) => ({ subject, ...createToken() }))
  const site = await startSite({
    operations: [operation('v1:it.runs', { model: 'async', run: () => 1 })],
    auth: { tokens: people.map(({ subject, hash }) => ({ subject, hash, kind: 'bearer', scopes: [] })) },
    ...UNLIMITED,
  })
  const [ann, ben] = people.map(({ token }) => ({ headers: { Authorization: `Bearer ${token}` } }))
  const { taskId } = (await call(site, 'it_runs', {}, ann)).json.result
  for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update']) {
    for (const [id, who] of [[taskId, ben] as const, ['01890000-0000-7000-8000-000000000000', ann] as const]) {
      const params = { taskId: id, inputResponses: {} }
      const { json } = await ask(site, method, params, { capabilities: WITH_TASKS, ...who })
      expect(json.error.code).toBe(-32602)
    }
  }
  expect((await get(site, taskId, ann)).json.result.taskId).toBe(taskId)
})

describe('a call that needs an approval', () => {
  const agent = { headers: PEOPLE.agent.headers }

  test('waits as a task until it is approved', async () => {
    const desk = await openDesk(UNLIMITED)
    const { taskId } = (await call(desk, 'orders_refund', { amount: 500 }, agent)).json.result
    const silent = (await get(desk, taskId, agent)).json.result
    expect(silent).toMatchObject({ status: 'working', statusMessage: 'Waiting for an approval.' })

    const asking = { ...agent, capabilities: { ...WITH_TASKS, elicitation: { form: {}, url: {} } } }
    const asked = (await get(desk, taskId, asking)).json.result
    expect(asked.status).toBe('input_required')
    const { method, params } = asked.inputRequests.approval
    expect([method, params.mode]).toEqual(['elicitation/create', 'url'])
    expect(await (await fetch(params.url)).json()).toEqual({ status: 'pending' })

    // The caller may not decide, even if its client sends a decision.
    const answer = { approval: { action: 'accept', content: { approve: true } } }
    const heard = await ask(desk, 'tasks/update', { taskId, inputResponses: answer }, asking)
    expect(heard.json.result).toEqual({ resultType: 'complete' })
    expect((await get(desk, taskId, asking)).json.result.status).toBe('input_required')

    await desk.decide((await onlyOne(desk)).id)
    const done = await until(desk, taskId, 'completed', asking)
    expect(done.result.structuredContent).toEqual({ refunded: 500 })
    expect(desk.ran).toEqual([{ amount: 500 }])
  })

  test('is put to the caller as a form where the policy lets them decide', async () => {
    const [rule] = policy.rules ?? []
    const desk = await openDesk({
      ...UNLIMITED,
      policy: { default: 'allow', rules: [{ ...rule, approval: { selfApproval: true } } as NonNullable<typeof rule>] },
    })
    const root = { headers: PEOPLE.root.headers, capabilities: { ...WITH_TASKS, elicitation: {} } }
    const start = async () => (await call(desk, 'orders_refund', { amount: 500 }, root)).json.result.taskId
    const answer = (taskId: string, approve: boolean) => {
      const inputResponses = { approval: { action: 'accept', content: { approve } } }
      return ask(desk, 'tasks/update', { taskId, inputResponses }, root)
    }

    const refused = await start()
    const asked = (await get(desk, refused, root)).json.result
    expect(asked.inputRequests.approval.params).toMatchObject({
      mode: 'form',
      requestedSchema: { required: ['approve'] },
    })
    expect((await answer(refused, false)).json.result).toEqual({ resultType: 'complete' })
    expect((await until(desk, refused, 'completed', root)).result).toMatchObject({ isError: true })
    expect(desk.ran).toEqual([])

    const granted = await start()
    await answer(granted, true)
    expect((await until(desk, granted, 'completed', root)).result.structuredContent).toEqual({ refunded: 500 })
  })

  test('tells a client without tasks that the same call will run once it is given', async () => {
    const desk = await openDesk(UNLIMITED)
    const refund = () =>
      askOlder(desk, 'tools/call', { name: 'orders_refund', arguments: { amount: 500 } }, { ...agent.headers })
    const { json } = await refund()
    expect(json.result.isError).toBe(true)
    expect(json.result.content[0].text).toMatch(/needs an approval.*Send the same call again after the approval/)
    await desk.decide((await onlyOne(desk)).id)
    expect((await refund()).json.result.structuredContent).toEqual({ refunded: 500 })
  })
})

describe('a call that needs the authorization of a person', () => {
  async function startCalendar() {
    const oauth = await startOAuthServer()
    const { issuer } = oauth
    const calendar = {
      issuer,
      clientId: CLIENT.id,
      clientSecret: CLIENT.secret,
      scopes: ['openid'],
      allowInsecure: true,
    }
    const site = await startSite({
      operations: [
        operation('v1:calendar.read', {
          requires: { authorization: [{ id: 'calendar', scopes: ['openid', 'calendar.read'] }] },
          run: async (_args, ctx) => ((await ctx.authorization('calendar')) === '' ? 'nothing' : 'three meetings'),
        }),
      ],
      authorization: { providers: { calendar } },
    })
    oauth.register(`${site.url}/authorizations/callback`)
    return site
  }

  test('is put to the person by a client that can, and runs when it is sent again', async () => {
    const site = await startCalendar()
    const asking = { capabilities: { elicitation: { url: {} } } }
    const { json } = await ask(site, 'tools/call', { name: 'calendar_read' }, asking)
    expect(json.result.resultType).toBe('input_required')
    const [[key, request]] = Object.entries<{ params: { mode: string; url: string } }>(json.result.inputRequests) as [
      [string, { params: { mode: string; url: string } }],
    ]
    expect(request.params.mode).toBe('url')

    const declined = { [key]: { action: 'decline' } }
    const no = await ask(site, 'tools/call', { name: 'calendar_read', inputResponses: declined }, asking)
    expect(no.json.result).toMatchObject({ resultType: 'complete', isError: true })

    await browse(request.params.url)
    const accepted = { [key]: { action: 'accept' } }
    const yes = await ask(site, 'tools/call', { name: 'calendar_read', inputResponses: accepted }, asking)
    expect(yes.json.result.content[0].text).toBe('three meetings')
  })

  test('has its address told to the model by any other client', async () => {
    const site = await startCalendar()
    const { json } = await askOlder(site, 'tools/call', { name: 'calendar_read' })
    const [url] = /https?:\/\/\S+/.exec(json.result.content[0].text) ?? []
    expect(json.result.isError).toBe(true)
    await browse(url ?? '')
    const { json: now } = await askOlder(site, 'tools/call', { name: 'calendar_read' })
    expect(now.result.content[0].text).toBe('three meetings')
  })
})
