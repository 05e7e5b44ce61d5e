/** Breaches of the Tool Execution API, including exact bodies and order. */
import { type Breach, breach, changeJson, type Loose, onAnswer, onRequest } from './breach.ts'

/** Changes every JSON response to a call. */
function onCall(title: string, cases: readonly string[], change: (body: Loose, status: number) => void): Breach {
  return onAnswer(title, cases, (served, { path }) => {
    if (path.endsWith('/call')) changeJson(served, (body) => change(body, served.status))
  })
}

function onStatus(title: string, cases: readonly string[], from: number, to: number): Breach {
  return onAnswer(title, cases, (served) => {
    if (served.status === from) served.status = to
  })
}

const answering = (status: number, body: object) => ({ status, body: Buffer.from(JSON.stringify(body)) })

export const restBreaches: readonly Breach[] = [
  onStatus('an unknown tool is 400', ['unknown-tool', 'names-are-decoded', 'lookup-before-the-rest'], 404, 400),
  onCall('an unknown tool is called a missing one', ['unknown-tool', 'names-are-decoded'], (body) => {
    if (body.error) body.error = body.error.replace('not found', 'missing')
  }),
  onCall(
    'a refusal says more than it should',
    ['unknown-tool', 'names-are-decoded', 'lookup-before-the-rest'],
    (body) => {
      if (body.error) body.code = 'NOT_FOUND'
    },
  ),
  onRequest('names are cut at what looks like a path', ['names-are-decoded'], (asked) => {
    asked.path = asked.path.replace(/%2F[^/]*/i, '')
  }),
  onAnswer('a body is parsed before the tool is looked up', ['lookup-before-the-rest'], (served, { body, path }) => {
    if (path.endsWith('/call') && body.toString() === '{bad')
      Object.assign(served, answering(400, { error: 'Bad JSON' }))
  }),
  onCall('the result is left to the client to guess', ['call-succeeds', 'tool-fails'], (body) => {
    delete body.isError
  }),
  onCall('content is one object', ['call-succeeds', 'image-content'], (body) => {
    if (body.content) body.content = body.content[0]
  }),
  onCall('a success has no content', ['call-succeeds'], (body) => {
    if (body.content) body.content = []
  }),
  onCall('a failure has no content', ['tool-fails'], (body) => {
    if (body.isError) body.content = []
  }),
  onStatus('a success is 201', ['call-succeeds', 'invalid-json-is-no-arguments'], 200, 201),
  onStatus('a failure is 200', ['tool-fails', 'wrong-arguments-are-answered'], 500, 200),
  onCall('a failure is called a success', ['tool-fails', 'wrong-arguments-are-answered'], (body) => {
    if (body.isError) body.isError = false
  }),
  breach('a tool that fails succeeds all the same', ['tool-fails', 'wrong-arguments-are-answered'], () => ({
    answer: (served, { path }) => {
      if (path.endsWith('/call') && served.status === 500) {
        Object.assign(served, answering(200, { content: [{ type: 'text', text: 'fine' }], isError: false }))
      }
    },
  })),
  onAnswer('results are plain text', ['call-succeeds', 'json-everywhere', 'unknown-tool', 'tool-detail'], (served) => {
    served.headers['content-type'] = 'text/plain'
  }),
  onRequest('arguments are wrapped', ['call-succeeds'], (asked) => {
    if (asked.path.endsWith('/call'))
      asked.body = Buffer.from(JSON.stringify({ arguments: JSON.parse(asked.body.toString()) }))
  }),
  onCall('_meta is null', ['trace-or-nothing', 'call-succeeds'], (body) => {
    if (body._meta) body._meta = null
  }),
  onCall('a trace id is empty', ['trace-or-nothing'], (body) => {
    if (body._meta) body._meta._trace_id = ''
  }),
  onCall('the trace id of a failure is null', ['trace-or-nothing'], (body) => {
    if (body.isError) body._meta = { _trace_id: null }
  }),
  onCall('all calls have one trace id', ['traces-differ'], (body) => {
    if (body._meta) body._meta._trace_id = 'one'
  }),
  onAnswer('a tool that fails badly is an error page', ['wrong-arguments-are-answered'], (served) => {
    if (served.status !== 500) return
    served.headers['content-type'] = 'text/html'
    served.body = Buffer.from('<h1>Internal Server Error</h1>')
  }),
  onAnswer('a body that is not JSON is refused', ['invalid-json-is-no-arguments'], (served, { path, body }) => {
    if (!path.endsWith('/call') || body.toString() !== '{bad') return
    Object.assign(served, answering(500, { content: [{ type: 'text', text: 'Bad JSON' }], isError: true }))
  }),
  onAnswer('a form is taken for arguments', ['invalid-json-is-no-arguments'], (served, { path, body }) => {
    if (!path.endsWith('/call') || !body.includes('radius=')) return
    Object.assign(served, answering(200, { content: [{ type: 'text', text: 'a circle of 40' }], isError: false }))
  }),
  onCall('an image is a link', ['image-content'], (body) => {
    if (body.content) body.content = [{ type: 'resource_link', uri: 'https://pictures.example/1' }]
  }),
  onCall('an image has no media type', ['image-content'], (body) => {
    delete body.content?.[0].mimeType
  }),
  onCall('an image is a data URL', ['image-content'], (body) => {
    if (body.content) body.content[0].data = `data:image/svg+xml;base64,${body.content[0].data}`
  }),
  onAnswer('a tool is shown without its schema', ['tool-detail'], (served, { method }) => {
    if (method === 'GET') changeJson(served, (body) => delete body.inputSchema)
  }),
  onAnswer('annotations are null', ['tool-detail'], (served, { method }) => {
    if (method === 'GET') changeJson(served, (body) => Object.assign(body, { annotations: null }))
  }),
  onAnswer('an unknown tool is shown as nothing', ['tool-detail-unknown'], (served) => {
    if (served.status === 404) Object.assign(served, answering(200, {}))
  }),
  onAnswer('a good validation lists no errors', ['validate-good'], (served) => {
    changeJson(served, (body) => Object.assign(body, body.valid && { errors: [] }))
  }),
  onAnswer('a bad validation is 422', ['validate-bad'], (served, { path }) => {
    if (path.endsWith('/validate')) served.status = 422
  }),
  onAnswer('a missing field is the fault of the object around it', ['validate-bad'], (served) => {
    changeJson(served, (body) => {
      for (const error of body.errors ?? []) if (error.path === '/b') error.path = ''
    })
  }),
  onAnswer('only the first problem is named', ['validate-bad'], (served) => {
    changeJson(served, (body) => body.errors?.splice(1))
  }),
  onRequest('what is not JSON is validated as {}', ['validate-no-json'], (asked) => {
    if (asked.path.endsWith('/validate') && asked.body.toString() === '{bad') asked.body = Buffer.from('{}')
  }),
  onAnswer('bad JSON is not explained', ['validate-no-json'], (served) => {
    changeJson(served, (body) => {
      for (const error of body.errors ?? []) error.message = 'Bad request'
    })
  }),
  onAnswer('what is not there is a page', ['json-everywhere'], (served) => {
    if (served.status === 405) served.headers['content-type'] = 'text/html'
  }),
]

export const restTokenBreaches: readonly Breach[] = [
  onStatus('who is not known is forbidden', ['auth-rejected', 'auth-after-parsing'], 401, 403),
  onCall('who is not known hears why', ['auth-rejected', 'auth-after-parsing'], (body, status) => {
    if (status === 401) body.error = 'The token has expired.'
  }),
  onAnswer('a body is judged before who sent it', ['auth-after-parsing'], (served, { body }) => {
    if (body.toString() === '{bad') Object.assign(served, answering(400, { error: 'Bad JSON' }))
  }),
  onAnswer('who is known is asked before what is called', ['lookup-before-the-rest'], (served, { headers }) => {
    if (headers.authorization === 'Bearer wrong') Object.assign(served, answering(401, { error: 'Unauthorized' }))
  }),
].map((each) => ({ ...each, behindToken: true }))

export const restDisabledBreaches: readonly Breach[] = [
  onStatus('disabled is 401', ['execution-disabled'], 403, 401),
  onCall('disabled is worded otherwise', ['execution-disabled'], (body) => {
    body.error = 'Execution is off'
  }),
  onAnswer('an unknown tool is 404 although nothing is run', ['execution-disabled'], (served, { path }) => {
    if (path.includes('no_such')) Object.assign(served, answering(404, { error: 'Tool not found' }))
  }),
]
