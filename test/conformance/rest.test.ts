/**
 * The published suite of the Tool Execution API against the quickstart: open, with a token, and with execution
 * disabled.
 */
import { createToken } from 'callplane'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { conformanceCases, type Target } from '../../src/testing/conformance/index.ts'
import { verifies } from '../requirements.ts'
import { serveQuickstart } from './quickstart.ts'
import { quickstartParts } from './quickstart-parts.ts'

const cases = conformanceCases('rest')
const needsToken = (id: string) => id.startsWith('auth-')
const needsDisabled = (id: string) => id === 'execution-disabled'

describe('conformance of an open server', { timeout: 30_000 }, () => {
  const target = servedTarget()

  for (const { id, title, requirements, run } of cases.filter(({ id }) => !needsToken(id) && !needsDisabled(id))) {
    test(`${id}: ${title}`, async () => {
      verifies(...requirements)
      await run(target)
    })
  }

  test('cases that an open server cannot show are skipped with a reason', async () => {
    for (const { run } of cases.filter(({ id }) => needsToken(id) || needsDisabled(id))) {
      await expect(run(target)).rejects.toMatchObject({ name: expect.stringMatching(/^(?:Skip|NotApplicable)$/) })
    }
  })

  test('so is a tool the server does not have', async () => {
    const named = { ...target, operations: { file: 'none' } }
    const drawing = cases.find(({ id }) => id === 'image-content')
    await expect(drawing?.run(named)).rejects.toMatchObject({ message: 'The server has no tool none.' })
  })
})

describe('conformance of a server behind a token', { timeout: 30_000 }, () => {
  const { token, hash } = createToken()
  const target = servedTarget({ tokens: [{ hash, kind: 'bearer', subject: 'conformance', scopes: ['*'] }] }, token)

  for (const { id, title, requirements, run } of cases.filter(({ id }) => !needsDisabled(id))) {
    test(`${id}: ${title}`, async () => {
      verifies(...requirements)
      await run(target)
    })
  }
})

describe('conformance of a server that runs nothing', { timeout: 30_000 }, () => {
  const target = servedTarget(undefined, undefined, {})

  test('it says so, and cases that need a tool to run are skipped', async () => {
    for (const { id, requirements, run } of cases) {
      const outcome = await run(target).then(
        () => 'met',
        (thrown: Error) => thrown.name,
      )
      expect([id, outcome]).toEqual([id, expect.stringMatching(/^(?:met|Skip|NotApplicable)$/)])
      if (needsDisabled(id)) {
        verifies(...requirements)
        expect(outcome).toBe('met')
      }
    }
  })
})

/** Its address is filled in when the server is up. */
function servedTarget(
  auth?: Parameters<typeof serveQuickstart>[0],
  token?: string,
  rest?: Parameters<typeof serveQuickstart>[1],
): Target {
  const target: Target = { url: '', ...quickstartParts('rest'), ...(token !== undefined && { token }) }
  let close = async () => {}
  beforeAll(async () => {
    const served = await serveQuickstart(auth, rest)
    target.url = served.url
    close = served.close
  })
  afterAll(() => close())
  return target
}
