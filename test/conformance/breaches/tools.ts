/** Breaches of OXP and OTC. */
import { randomUUID } from 'node:crypto'
import type { Asked, Served } from '../broken-proxy.ts'
import { type Breach, changeJson, type Loose, onAnswer, onRequest } from './breach.ts'

const isCall = ({ path }: Asked) => path.endsWith('/tools/call')

/** Changes the results of tools, inside the wrapper if there is one. */
function onResult(title: string, cases: readonly string[], change: (result: Loose, served: Served) => void): Breach {
  return onAnswer(title, cases, (served, asked) => {
    if (isCall(asked) && served.status === 200) changeJson(served, (body) => change(body.result ?? body, served))
  })
}

/** Changes every call in a request, like a server that ignores part of it. */
function onCall(title: string, cases: readonly string[], change: (call: Loose, body: Loose) => void): Breach {
  return onRequest(title, cases, (asked) => {
    if (!isCall(asked) || asked.body.length === 0) return
    const body = JSON.parse(asked.body.toString())
    change(body.request ?? body, body)
    asked.body = Buffer.from(JSON.stringify(body))
  })
}

function onTool(title: string, cases: readonly string[], change: (tool: Loose, at: number) => void): Breach {
  return onAnswer(title, cases, (served, { path }) => {
    if (path.endsWith('/tools')) changeJson(served, ({ items, tools }) => (items ?? tools).forEach(change))
  })
}

function onStatus(title: string, cases: readonly string[], from: number, to: number): Breach {
  return onAnswer(title, cases, (served, asked) => {
    if (isCall(asked) && served.status === from) served.status = to
  })
}

const LISTED = ['tool-list', 'tool-schemas', 'call']
const VERSIONED = ['several-versions', 'shorthand-version', 'latest-version']

const both: readonly Breach[] = [
  onAnswer('nobody is told of its health', ['health'], (served, { path }) => {
    if (path.endsWith('/health')) served.status = 401
  }),
  onAnswer('there is no list', LISTED, (served, { path }) => {
    if (path.endsWith('/tools')) served.status = 404
  }),
  onTool('an id is no tool id', ['tool-list'], (tool) => {
    tool.id = tool.id.replace('.', '/')
  }),
  onTool('two tools have one id', ['tool-list'], (tool, at) => {
    if (at < 2) tool.id = 'Text.Shout'
  }),
  onTool('a name has a dot', ['tool-list'], (tool) => {
    tool.name = tool.name.replace('_', '.')
  }),
  onTool('a version has two numbers', ['tool-list'], (tool) => {
    tool.version = '1.0'
  }),
  onTool('a schema has a reference', ['tool-schemas'], (tool) => {
    tool.input_schema.items = { $ref: '#/$defs/x' }
  }),
  onTool('a result schema is a text', ['tool-schemas'], (tool) => {
    tool.output_schema = 'number'
  }),
  onAnswer('answers are text/plain', ['call', 'call-id-generated'], (served, asked) => {
    if (isCall(asked)) served.headers['content-type'] = 'text/plain'
  }),
  onResult('call_id is not the caller’s', ['call'], (result) => {
    result.call_id = randomUUID()
  }),
  onResult('call_id is missing', ['call', 'call-id-generated', 'execution-error'], (result) => {
    delete result.call_id
  }),
  onResult('every generated call_id is the same', ['call-id-generated'], (result) => {
    result.call_id = 'one'
  }),
  onResult('there is no success', ['call', 'execution-error'], (result) => {
    delete result.success
  }),
  onResult('there is an error beside the value', ['call'], (result) => {
    result.error = null
  }),
  onResult('there is a value beside the error', ['execution-error', 'three-classes'], (result) => {
    if (result.error) result.value = null
  }),
  onResult('the value is a text', ['call'], (result) => {
    result.value = String(result.value)
  }),
  onResult('what failed is called a success', ['execution-error', 'three-classes'], (result) => {
    result.success = true
    delete result.error
  }),
  onResult('an error is a mere text', ['execution-error'], (result) => {
    if (result.error) result.error = result.error.message
  }),
  onResult('retry_after_ms is a fraction', ['execution-error'], (result) => {
    if (result.error) result.error.retry_after_ms = 0.5
  }),
  onAnswer('a tool that fails is 500', ['execution-error', 'three-classes'], (served, asked) => {
    if (isCall(asked) && served.body.includes('"success":false')) served.status = 500
  }),
  onRequest('GET calls as well', ['get-does-not-call'], (asked) => {
    if (isCall(asked) && asked.method === 'GET') asked.path = asked.path.replace('/call', '')
  }),
  onCall('a repeat runs again', ['call-id-repeated'], (call) => {
    call.call_id = randomUUID()
  }),
  onCall('unknown fields are let through', ['unknown-field'], (call) => {
    delete call.parameters
  }),
  onCall('a version is not looked at', [...VERSIONED.slice(0, 2), 'version-not-there', 'malformed-version'], (call) => {
    call.tool_id = call.tool_id.replace(/@.*/, '')
  }),
  onCall('the nearest version will do', ['several-versions'], (call) => {
    call.tool_id = call.tool_id.replace('@1.2.1', '@1.2.0')
  }),
  onCall('@1 is the latest of the first', ['shorthand-version'], (call) => {
    call.tool_id = call.tool_id.replace(/@1$/, '@1.2.0')
  }),
  onCall('without a version the first runs', ['latest-version'], (call) => {
    if (!call.tool_id.includes('@')) call.tool_id += '@1.0.0'
  }),
  onCall('case does not matter', ['tool-not-there'], (call) => {
    if (call.tool_id === 'calculator.add') call.tool_id = 'Calculator.Add'
  }),
  onStatus(
    'what is not there is 404',
    ['version-not-there', 'tool-not-there', 'malformed-version', 'message-for-people'],
    400,
    404,
  ),
  onStatus('wrong input is 400', ['input-not-valid', 'three-classes', 'parameter-errors'], 422, 400),
  onStatus('input of the wrong shape is 422', ['input-not-an-object'], 400, 422),
  onCall('wrong input is mended', ['input-not-valid'], (call) => {
    call.input = { a: 1, b: 2 }
  }),
  onAnswer('parameter_errors is a list', ['parameter-errors'], (served) => {
    if (served.status === 422) changeJson(served, (body) => Object.assign(body, { parameter_errors: ['b'] }))
  }),
  onAnswer('parameter_errors names another', ['parameter-errors'], (served) => {
    if (served.status === 422)
      changeJson(served, (body) => Object.assign(body, { parameter_errors: { other: 'Wrong' } }))
  }),
  onAnswer('a refusal has no message', ['message-for-people', 'three-classes'], (served) => {
    if (served.status === 400) {
      changeJson(served, (body) => {
        delete body.message
      })
    }
  }),
  onAnswer('a message is a stack trace', ['message-for-people'], (served) => {
    if (served.status === 400) {
      changeJson(served, (body) => {
        body.message += '\n    at resolve (/srv/app/tools.js:12:7)'
      })
    }
  }),
]

const oxpOnly: readonly Breach[] = [
  onAnswer('OXP-Version is not sent', ['version-header'], (served) => {
    delete served.headers['oxp-version']
  }),
  onAnswer('OXP-Version is not sent with refusals', ['version-header'], (served) => {
    if (served.status !== 200) delete served.headers['oxp-version']
  }),
  onRequest('any OXP-Version will do', ['protocol-version'], (asked) => {
    delete asked.headers['oxp-version']
  }),
  onAnswer('a stated version is refused', ['version-not-stated'], (served, asked) => {
    if (!asked.headers['oxp-version'] || !isCall(asked)) return
    served.status = 400
    served.body = Buffer.from('{"message":"No."}')
  }),
  onAnswer('an authorization has no address', ['authorization-challenge'], (served) => {
    changeJson(served, ({ missing_requirements: missing }) => {
      for (const each of missing?.authorization ?? []) delete each.url
    })
  }),
  onAnswer('a missing authorization is not named', ['authorization-challenge'], (served) => {
    changeJson(served, (body) => {
      delete body.missing_requirements
    })
  }),
  onAnswer('a challenge is 202 while it is open', ['authorization-challenge'], (served, { path }) => {
    if (path.startsWith('/authorizations/')) served.status = 202
  }),
]

const otcOnly: readonly Breach[] = [
  onAnswer('results are not wrapped', ['schema-not-stated', 'call'], (served, asked) => {
    if (isCall(asked) && served.status === 200) {
      served.body = Buffer.from(JSON.stringify(JSON.parse(served.body.toString()).result))
    }
  }),
  onCall('any $schema will do', ['protocol-version'], (_call, body) => {
    delete body.$schema
  }),
  onTool('a parameter has no description', ['tool-schemas'], (tool) => {
    for (const each of Object.values<Loose>(tool.input_schema.parameters.properties ?? {})) delete each.description
  }),
  onTool('the schema is not in parameters', ['tool-schemas'], (tool) => {
    tool.input_schema = tool.input_schema.parameters
  }),
]

export function toolBreaches(protocol: 'oxp' | 'otc'): readonly Breach[] {
  return [...both, ...(protocol === 'oxp' ? oxpOnly : otcOnly)]
}

/** These need a server that requires a token. */
export function toolTokenBreaches(token: string): readonly Breach[] {
  const authorization = `Bearer ${token}`
  return [
    onRequest('nobody is asked who they are', ['auth-missing'], (asked) => {
      asked.headers.authorization ??= authorization
    }),
    onRequest('any credential will do', ['auth-invalid'], (asked) => {
      if (asked.headers.authorization) asked.headers.authorization = authorization
    }),
    onAnswer('the list is for everybody', ['auth-missing'], (served, { path }) => {
      if (path.endsWith('/tools')) served.status = 200
    }),
    onStatus('who is not known is 403', ['auth-missing', 'auth-invalid'], 400, 403),
  ]
}
