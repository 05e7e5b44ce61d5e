/** Handlers that ask their caller a question: in the stateless revision, and in a task. */
import { operation } from 'callplane'
import { describe, expect, test } from 'vitest'
import { onlyOne, openDesk, PEOPLE } from './approving.ts'
import { type Asking, ask, type Result, twoCallers, WITH_TASKS } from './mcp.ts'
import { FORMS, HAIKU, remove, SURE, YES } from './mcp-asking.ts'
import { createStepClock, type Site, startSite, temporaryFolder } from './server.ts'

const call = (site: Site, name: string, params: object = {}, asking: Asking = { capabilities: FORMS }) =>
  ask(site, 'tools/call', { name, arguments: { name: 'a.txt' }, ...params }, asking)

describe('the stateless revision', () => {
  test('the response has the questions, and the same call with the answers of every round continues', async () => {
    const site = await startSite({ operations: [remove] })

    const first = await call(site, 'files_remove')
    const { requestState } = first.json.result
    const second = await call(site, 'files_remove', { inputResponses: { confirm: YES }, requestState })
    const third = await call(site, 'files_remove', {
      inputResponses: { again: YES },
      requestState: second.json.result.requestState,
    })

    expect(first.json.result).toMatchObject({
      resultType: 'input_required',
      inputRequests: {
        confirm: {
          method: 'elicitation/create',
          params: { mode: 'form', message: 'Are you sure?', requestedSchema: SURE.schema },
        },
      },
    })
    expect(Object.keys(second.json.result.inputRequests)).toEqual(['again'])
    expect(third.json.result.content[0].text).toBe('removed a.txt')
  })

  test('a person may decline, and an invalid answer is asked for again', async () => {
    const site = await startSite({ operations: [remove] })
    const no = await call(site, 'files_remove', { inputResponses: { confirm: { action: 'decline' } } })
    const unfit = await call(site, 'files_remove', {
      inputResponses: { confirm: { action: 'accept', content: { sure: 'maybe' } } },
    })
    const none = await call(site, 'files_remove', { inputResponses: 'yes' })
    expect(no.json.result.content[0].text).toBe('kept a.txt')
    expect(Object.keys(unfit.json.result.inputRequests)).toEqual(['confirm'])
    expect(none.json.error.code).toBe(-32602)
  })

  test('the state of another caller, of another call or of another making is refused', async () => {
    const { ada, ben, auth } = twoCallers()
    const site = await startSite({ operations: [remove], auth })
    const as = (headers: typeof ada) => ({ capabilities: FORMS, headers })
    const { json } = await call(site, 'files_remove', { inputResponses: { confirm: YES } }, as(ada))
    const { requestState } = json.result
    const again = { inputResponses: { again: YES }, requestState }

    const own = await call(site, 'files_remove', again, as(ada))
    const theirs = await call(site, 'files_remove', again, as(ben))
    const other = await call(site, 'files_remove', { ...again, arguments: { name: 'b.txt' } }, as(ada))
    const forged = await call(site, 'files_remove', { requestState: requestState.replace('true', 'null') }, as(ada))

    expect(own.json.result.content[0].text).toBe('removed a.txt')
    for (const refused of [theirs, other, forged]) expect(refused.json.error.code).toBe(-32602)
  })

  test('a client without support for questions is told so, and a handler can check first', async () => {
    const poem = operation('v1:poems.write', {
      run: async (_, ctx) => (ctx.canAsk('completion') ? ctx.ask({ haiku: HAIKU }) : 'no poet'),
    })
    const site = await startSite({ operations: [remove, poem] })
    const refused = await call(site, 'files_remove', {}, { capabilities: { sampling: {} } })
    const looked = await call(site, 'poems_write')
    const asked = await call(site, 'poems_write', {}, { capabilities: { sampling: {} } })
    expect([refused.status, refused.json.error.code]).toEqual([400, -32021])
    expect(refused.json.error.data.requiredCapabilities).toEqual({ elicitation: {} })
    expect(looked.json.result.content[0].text).toBe('no poet')
    expect(asked.json.result.inputRequests.haiku).toMatchObject({
      method: 'sampling/createMessage',
      params: { maxTokens: 50, messages: HAIKU.messages },
    })
  })

  test('a question of a child call is put to the caller of its parent', async () => {
    const outer = operation('v1:files.tidy', { run: (_, ctx) => ctx.call('v1:files.remove', { name: 'b.txt' }) })
    const site = await startSite({ operations: [remove, outer] })
    const first = await call(site, 'files_tidy')
    const done = await call(site, 'files_tidy', { inputResponses: { confirm: YES, again: YES } })
    expect(Object.keys(first.json.result.inputRequests)).toEqual(['confirm'])
    expect(done.json.result.content[0].text).toBe('removed b.txt')
  })

  test('an operation that has effects is called once, with the answers, though it was asked for twice', async () => {
    let removed = 0
    const wipe = operation('v1:disk.wipe', {
      sideEffecting: true,
      async run(_, ctx) {
        await ctx.ask({ confirm: SURE })
        return ++removed
      },
    })
    const site = await startSite({ operations: [wipe] })
    const asking = { capabilities: FORMS, meta: { 'callplane/idempotencyKey': 'k-1' } }
    await call(site, 'disk_wipe', {}, asking)
    await call(site, 'disk_wipe', { inputResponses: { confirm: YES } }, asking)
    const { json } = await call(site, 'disk_wipe', { inputResponses: { confirm: YES } }, asking)
    expect(json.result.content[0].text).toBe('1')
    expect(removed).toBe(1)
  })

  test('a question of a child of an operation with effects is answered under the same key', async () => {
    let moved = 0
    const inner = operation('v1:files.move', {
      sideEffecting: true,
      async run(_, ctx) {
        await ctx.ask({ confirm: SURE })
        return ++moved
      },
    })
    const outer = operation('v1:files.sort', { sideEffecting: true, run: (_, ctx) => ctx.call('v1:files.move', {}) })
    const site = await startSite({ operations: [inner, outer] })
    const asking = { capabilities: FORMS, meta: { 'callplane/idempotencyKey': 'k-1' } }
    await call(site, 'files_sort', {}, asking)
    const { json } = await call(site, 'files_sort', { inputResponses: { confirm: YES } }, asking)
    expect(json.result.content[0].text).toBe('1')
  })

  test('an approval is not used up by a question', async () => {
    const refund = operation('v1:orders.refund', {
      args: { type: 'object', properties: { amount: { type: 'number' } } },
      model: 'async',
      run: async ({ amount }, ctx) => {
        await ctx.ask({ confirm: SURE })
        return `refunded ${amount}`
      },
    })
    const desk = await openDesk({ operations: [refund] })
    const asking = { capabilities: FORMS, headers: PEOPLE.agent.headers }
    const ask = (more: object = {}) => call(desk, 'orders_refund', { arguments: { amount: 500 }, ...more }, asking)
    await ask()
    await desk.decide((await onlyOne(desk)).id)
    const asked = await ask()
    const done = await ask({ inputResponses: { confirm: YES }, requestState: asked.json.result.requestState })
    expect(asked.json.result.resultType).toBe('input_required')
    expect(done.json.result.content[0].text).toBe('refunded 500')
  })

  test('state that is older than an hour is refused', async () => {
    const clock = createStepClock()
    const site = await startSite({ operations: [remove], clock })
    const { json } = await call(site, 'files_remove', { inputResponses: { confirm: YES } })
    const again = { inputResponses: { again: YES }, requestState: json.result.requestState }
    clock.advance(3_600_000)
    expect((await call(site, 'files_remove', again)).json.error.code).toBe(-32602)
  })

  test('a result that depends on an answer is not cached for others', async () => {
    const greet = operation('v1:people.greet', {
      cache: { policy: 'server', ttlSeconds: 60 },
      async run(_, ctx) {
        const { confirm } = await ctx.ask({ confirm: SURE })
        return confirm.action
      },
    })
    const site = await startSite({ operations: [greet] })
    await call(site, 'people_greet', { inputResponses: { confirm: YES } })
    const { json } = await call(site, 'people_greet')
    expect(json.result.resultType).toBe('input_required')
  })

  test('protocols that cannot ask say that it needs an answer', async () => {
    const site = await startSite({ operations: [remove] })
    const response = await site.request('/call', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ op: 'v1:files.remove', args: {}, ctx: { requestId: 'r-1' } }),
    })
    expect(await response.json()).toMatchObject({ state: 'error', error: { code: 'INPUT_REQUIRED' } })
  })
})

describe('tasks', () => {
  const CAN = { capabilities: { ...FORMS, ...WITH_TASKS } }
  const both = operation('v1:files.move', {
    model: 'async',
    run: (_, ctx) => ctx.ask({ from: SURE, to: SURE }),
  })
  const get = async (site: Site, taskId: string): Promise<Result> =>
    (await ask(site, 'tasks/get', { taskId }, CAN)).json.result
  const update = (site: Site, taskId: string, inputResponses: object, asking = CAN) =>
    ask(site, 'tasks/update', { taskId, inputResponses }, asking)

  async function until(site: Site, taskId: string, status: string): Promise<Result> {
    for (;;) {
      const task = await get(site, taskId)
      if (task.status === status) return task
      expect(['working', 'input_required']).toContain(task.status)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  test('a task waits for the answers, also over a restart and one by one, and then continues', async () => {
    const data = temporaryFolder()
    const options = { operations: [both], data, limits: { pollBurst: 10_000 } }
    const before = await startSite(options)
    const { taskId } = (await call(before, 'files_move', {}, CAN)).json.result
    const asked = await until(before, taskId, 'input_required')
    await update(before, taskId, { from: YES })
    await before.close()

    const after = await startSite(options)
    const open = await get(after, taskId)
    await update(after, taskId, { from: { action: 'decline' }, to: 'no answer' })
    const still = await get(after, taskId)
    await update(after, taskId, { to: { action: 'cancel' } })
    const done = await until(after, taskId, 'completed')

    expect(Object.keys(asked.inputRequests)).toEqual(['from', 'to'])
    expect(Object.keys(open.inputRequests)).toEqual(['to'])
    expect(Object.keys(still.inputRequests)).toEqual(['to'])
    // The first answer to a question counts.
    expect(done.result.structuredContent).toEqual({ from: YES, to: { action: 'cancel' } })
  })

  test('required answers are asked for before there is a task', async () => {
    const ship = operation('v1:orders.ship', {
      model: 'async',
      requires: { answers: { confirm: SURE } },
      run: async (_, ctx) => (await ctx.ask({ confirm: SURE })).confirm,
    })
    const site = await startSite({ operations: [ship], limits: { pollBurst: 10_000 } })
    const first = await call(site, 'orders_ship', {}, CAN)
    const second = await call(site, 'orders_ship', { inputResponses: { confirm: YES } }, CAN)
    const done = await until(site, second.json.result.taskId, 'completed')
    expect(first.json.result.resultType).toBe('input_required')
    expect(second.json.result.resultType).toBe('task')
    expect(done.result.structuredContent).toEqual(YES)
  })

  test('a waiting task can be canceled, and no other caller can answer it', async () => {
    const { ada, ben, auth } = twoCallers()
    const site = await startSite({ operations: [both], auth, limits: { pollBurst: 10_000 } })
    const as = (headers: typeof ada) => ({ ...CAN, headers })
    const { taskId } = (await call(site, 'files_move', {}, as(ada))).json.result
    const theirs = await update(site, taskId, { from: YES, to: YES }, as(ben))
    await ask(site, 'tasks/cancel', { taskId }, as(ada))
    const { json } = await ask(site, 'tasks/get', { taskId }, as(ada))
    expect(theirs.json.error.code).toBe(-32602)
    expect(json.result.status).toBe('cancelled')
  })

  test('a client without tasks is told that an operation needs them', async () => {
    const site = await startSite({ operations: [both], mcp: { tasksOnly: ['v1:files.move'] } })
    const { status, json } = await call(site, 'files_move', {}, { capabilities: FORMS })
    expect([status, json.error.code]).toEqual([400, -32021])
    expect(json.error.data.requiredCapabilities).toEqual(WITH_TASKS)
  })
})
