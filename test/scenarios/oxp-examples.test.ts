/**
 * The examples of the OXP and OTC documents: requests sent as printed, responses as printed except for the duration.
 */
import { describe, expect, test } from 'vitest'
import * as quickstart from '../../examples/quickstart/operations.ts'
import { verifies } from '../requirements.ts'
import { type OxpAnswer, oxpClient } from './oxp.ts'
import { startSite } from './server.ts'

interface Example {
  title: string
  proves: readonly string[]
  /** Of OXP; OTC prints the same in `request`. */
  request: string
  status: number
  response: string
}

const EXAMPLES: readonly Example[] = [
  {
    title: 'Successful Execution',
    proves: ['oxp:01', 'oxp:02', 'oxp:11', 'oxp:15'],
    request: `{
      "call_id": "123e4567-e89b-12d3-a456-426614174000",
      "tool_id": "Calculator.Add@1.0.0",
      "input": {
        "a": 10,
        "b": 5
      }
    }`,
    status: 200,
    response: `{
      "call_id": "123e4567-e89b-12d3-a456-426614174000",
      "duration": 2,
      "success": true,
      "value": 15
    }`,
  },
  {
    title: 'Server Error',
    proves: ['oxp:13', 'oxp:16', 'oxp:24', 'oxp:28', 'oxp:30', 'oxp:32'],
    request: `{
      "call_id": "123e4567-e89b-12d3-a456-426614174000",
      "tool_id": "Calculator.Add@2.0.0"
    }`,
    status: 400,
    response: `{
      "message": "Tool 'Calculator_Add' was not found",
      "developer_message": "Calculator.Add version 2.0.0 is not available"
    }`,
  },
  {
    title: 'Input Validation Error',
    proves: ['oxp:14', 'oxp:17', 'oxp:40', 'oxp:41'],
    request: `{
      "call_id": "123e4567-e89b-12d3-a456-426614174000",
      "tool_id": "Calculator.Add@1.0.0",
      "input": {
        "a": 10,
        "b": "infinity"
      }
    }`,
    status: 422,
    response: `{
      "message": "Some input parameters are invalid",
      "parameter_errors": {
        "b": "Must be a number"
      }
    }`,
  },
  {
    title: 'Tool Execution Error',
    proves: ['oxp:12', 'oxp:42'],
    request: `{
      "call_id": "723e4567-e89b-12d3-a456-426614174006",
      "tool_id": "Doorbell.Ring@0.1.0",
      "input": {
        "doorbell_id": "doorbell1"
      }
    }`,
    status: 200,
    response: `{
      "call_id": "723e4567-e89b-12d3-a456-426614174006",
      "duration": 60,
      "success": false,
      "error": {
        "message": "Doorbell ID not found",
        "developer_message": "The doorbell with ID 'doorbell1' does not exist.",
        "can_retry": true,
        "additional_prompt_content": "ids: doorbell42,doorbell84",
        "retry_after_ms": 500
      }
    }`,
  },
]

/** The bytes without white space, with the members in their order. */
const bare = (json: string) => JSON.stringify(JSON.parse(json))
const timeless = (json: string) => json.replace(/"duration":\d+/, '"duration":0')

function expectPrinted(answer: OxpAnswer, status: number, printed: string): void {
  expect([answer.status, timeless(answer.text)]).toEqual([status, timeless(bare(printed))])
}

describe.each(EXAMPLES)('$title', ({ proves, request, status, response }) => {
  test('OXP', async () => {
    verifies(...proves)
    const { url } = await startSite({ operations: Object.values(quickstart) })
    const client = oxpClient(url)

    const once = await client.send(request)
    const again = await client.send(request)

    expectPrinted(once, status, response)
    expectPrinted(again, status, response)
  })

  test.each([
    ['OTC', '"$schema": "otc://1.0",', 'otc://1.0', '/tools/call'],
    ['OTC at its own base', '"$schema": "otc://1.0",', 'otc://1.0', '/otc/tools/call'],
    ['OTC that names no version', '', 'otc://1.0', '/tools/call'],
    ['OXP as its SDKs write it', '"$schema": "urn:oxp:1.0",', 'urn:oxp:1.0', '/tools/call'],
  ])('%s', async (_dialect, marker, answered, path) => {
    verifies(...proves.filter((id) => !['oxp:15', 'oxp:16', 'oxp:17'].includes(id)))
    if (marker === '') verifies('oxp:10')
    const { url } = await startSite({ operations: Object.values(quickstart) })

    const answer = await oxpClient(url).send(`{${marker}"request":${request}}`, {}, path)

    const inside = bare(response)
    const printed = status === 200 ? `{"result":${inside}}` : inside
    expectPrinted(answer, status, `{"$schema":"${answered}",${printed.slice(1)}`)
  })
})
