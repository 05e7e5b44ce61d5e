/** The sibling features: the list of tools, and validation of arguments. */
import { must, mustBeObject, mustBeText, mustEqual } from '../../assertions.ts'
import { refusedArguments } from '../../parts.ts'
import { defineCase } from '../define.ts'
import { NO_TOOL } from '../subject.ts'

export const discoveryCases = [
  defineCase('tool-detail', 'a tool is shown with its name, description and schema', [], async (server) => {
    const { op, path } = await server.part('sync')
    const { body } = await server.send(`/tools/${path}`)

    mustEqual(body.name, op, 'name')
    must(typeof body.description === 'string', 'description is not a text.')
    mustBeObject(body.inputSchema, 'inputSchema')
    must(!('annotations' in body) || mustBeObject(body.annotations, 'annotations') !== null, 'annotations is null.')
  }),

  defineCase('tool-detail-unknown', 'the detail of an unknown tool is 404', [], async (server) => {
    const { status, body } = await server.send(`/tools/${NO_TOOL}`)
    mustEqual([status, body], [404, { error: `Tool not found: ${NO_TOOL}` }], 'the response')
  }),

  defineCase('validate-good', 'good arguments are {"valid": true} and nothing more', [], async (server) => {
    const tool = await server.part('sync')
    const { status, body } = await server.post(`/tools/${tool.path}/validate`, tool.body)
    mustEqual([status, body], [200, { valid: true }], 'the response')
  }),

  defineCase('validate-bad', 'every problem is named, with the pointer to a missing field', [], async (server) => {
    const tool = await server.part('validated')
    // One argument has the wrong type. If there is a second required argument, it is missing.
    const [wrong] = refusedArguments(tool)
    const { required } = (tool.argsSchema ?? {}) as { required?: string[] }
    const missing = required?.find((name) => name !== wrong?.at)
    const { [missing ?? '']: _, ...args } = wrong?.args ?? {}
    const { status, body } = await server.post(`/tools/${tool.path}/validate`, JSON.stringify(args))

    mustEqual([status, body.valid], [200, false], 'status and valid')
    must(Array.isArray(body.errors), 'There is no array "errors".')
    const paths = body.errors.map((error) => {
      const { path, message } = mustBeObject(error, 'an error')
      mustBeText(message, 'message')
      return path
    })
    for (const name of [wrong?.at, missing].filter((each) => each !== undefined)) {
      must(paths.includes(`/${name}`), `No error is at /${name}, only at ${paths.join(', ')}.`)
    }
  }),

  defineCase('validate-no-json', 'a body that is not JSON is 400 with the reason', [], async (server) => {
    const { path: tool } = await server.part('sync')
    const { status, body } = await server.post(`/tools/${tool}/validate`, '{bad')

    mustEqual([status, body.valid], [400, false], 'status and valid')
    const [error] = Array.isArray(body.errors) ? body.errors : []
    const { path, message, keyword } = mustBeObject(error, 'errors[0]')
    mustEqual([path, keyword], ['', 'format'], 'path and keyword')
    must(/^Invalid JSON: ./.test(mustBeText(message, 'message')), `"${String(message)}" is not "Invalid JSON: …".`)
  }),

  defineCase('json-everywhere', 'unknown paths get a JSON response, too', [33], async (server) => {
    const { path: tool } = await server.part('sync')
    for (const [method, path] of [
      ['GET', `/tools/${tool}/call`],
      ['DELETE', `/tools/${tool}`],
      ['GET', `/tools/${tool}/nothing/here`],
    ] as const) {
      const { status } = await server.send(path, { method })
      must(status === 404 || status === 405, `${method} ${path} gets ${status}, not 404 or 405.`)
    }
  }),
]
