/** `callplane policy test`: shows what a policy would decide about a call, and which rules match. It runs nothing. */

import { ANONYMOUS, type Caller } from '../../core/call/caller.ts'
import { Fault } from '../../core/fault.ts'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { nearest } from '../../core/nearest.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { Decision } from '../../core/ports/guard.ts'
import { scopesGuard } from '../../security/identity/scope-guard.ts'
import { type Evaluation, PolicyEvaluator } from '../../security/policy/evaluate.ts'
import { loadPolicy } from '../../security/policy/file.ts'
import { checkOperations, isOwn } from '../../security/policy/guard.ts'
import { wantOfIsolation } from '../../security/policy/isolation.ts'
import type { Policy } from '../../security/policy/parse.ts'
import { parseArguments } from '../arguments.ts'
import { type Command, EXIT, print, usageFault } from '../command.ts'
import { plainText } from '../terminal/text.ts'
import { describedOperation, operationIn } from './policy-operation.ts'

export const policy: Command = {
  help: `
Usage: callplane policy test <file> --op <name> [options]

Options:
  --op <name>              The operation, for example v1:orders.delete.
  --operations <path>      The file or folder that defines it. Also checks scopes and arguments.
  --capabilities <a,b>     Without --operations: its capabilities.
  --risk <level>           Without --operations: low, medium, high or critical (default: low).
  --isolated               Without --operations: it runs in a sandbox.
  --args <json>            The arguments (default: {}).
  --subject <name>         The caller (default: anonymous).
  --issuer <issuer>        The issuer of the caller's identity.
  --tenant <name>          The caller's tenant (default: main).
  --claims <json>          The caller's claims.
  --roles <a,b>            Roles to assume in addition to those that the policy assigns.
  --scopes <a,b>           The caller's scopes; * means all.
  --json                   Prints the decision as JSON.

Exit codes: 0 allowed, 1 refused, 2 the command, the policy or the call is wrong, 4 held for an approval.

Examples:
  callplane policy test policy.yaml --op v1:orders.delete --subject agent-7 --operations operations.ts
  callplane policy test policy.yaml --op v1:shell.run --capabilities exec.command --risk high --roles analyst`,
  async run(io) {
    const { values, positionals } = parseArguments(io.args, OPTIONS, 2)
    const [action, file] = positionals
    if (action !== 'test' || file === undefined) throw usageFault('Usage: callplane policy test <file> --op <name>')
    if (values.op === undefined) throw usageFault('Name the operation: --op v1:orders.delete')
    const args = parseObject(values.args ?? '{}', '--args')
    const call = { caller: callerFrom(values), args, roles: listOf(values.roles) }
    const answer = await asUsage(async () => {
      const loaded = await loadPolicy(file)
      checkRoles(call.roles, loaded)
      const operation = await operationFrom(values.op as string, values, args, file)
      checkOperations(loaded, [operation])
      return { name: operation.name.full, ...judge(loaded, operation, call) }
    })
    print(io.stdout, values.json ? JSON.stringify(asJson(answer), null, 2) : describe(answer, call.caller))
    return EXIT_OF[answer.decision.verdict]
  },
}

const OPTIONS = {
  op: { type: 'string' },
  operations: { type: 'string' },
  capabilities: { type: 'string' },
  risk: { type: 'string' },
  isolated: { type: 'boolean' },
  args: { type: 'string' },
  subject: { type: 'string' },
  issuer: { type: 'string' },
  tenant: { type: 'string' },
  claims: { type: 'string' },
  roles: { type: 'string' },
  scopes: { type: 'string' },
  json: { type: 'boolean', default: false },
} as const

type Values = Partial<Record<Exclude<keyof typeof OPTIONS, 'isolated' | 'json'>, string>> & { isolated?: boolean }

const EXIT_OF: Record<Decision['verdict'], number> = { allow: EXIT.ok, deny: EXIT.failed, hold: EXIT.held }
const WORDS: Record<Decision['verdict'], string> = {
  allow: 'ALLOWED',
  deny: 'REFUSED',
  hold: 'HELD for an approval',
}

type Answer = Evaluation & { name: string }

interface Question {
  caller: Caller
  args: JsonObject
  roles: readonly string[]
}

/** Checks in the same order as a server: scopes, policy, sandbox. */
function judge(loaded: Policy, operation: Operation, { caller, args, roles }: Question): Evaluation {
  const evaluation = new PolicyEvaluator(loaded).evaluate(caller, operation, args, roles)
  const own = isOwn(operation)
  try {
    scopesGuard.admit?.(caller, operation)
  } catch (thrown) {
    const rule = 'the scopes of the operation'
    return { ...evaluation, decision: { verdict: 'deny', rule, reason: Fault.from(thrown).message } }
  }
  if (!own) {
    const harm = evaluation.decision.verdict === 'deny' ? undefined : wantOfIsolation(operation, loaded)
    return harm ? { ...evaluation, decision: harm } : evaluation
  }
  const decision = { verdict: 'allow', rule: 'its scopes: no policy governs this operation' } as const
  return { ...evaluation, matched: [], decision }
}

function operationFrom(name: string, values: Values, args: JsonObject, policy: string): Operation | Promise<Operation> {
  const { operations, capabilities, risk, isolated } = values
  if (operations === undefined) {
    return describedOperation(name, { capabilities: listOf(capabilities), risk, isolated: isolated === true })
  }
  if (capabilities !== undefined || risk !== undefined || isolated) {
    throw usageFault(
      '--capabilities, --risk and --isolated describe an operation that no file defines. Leave out these options or --operations.',
    )
  }
  return operationIn({ place: operations, policy }, name, args)
}

/** An undefined role matches no rule, so a misspelt one would give a misleading decision. */
function checkRoles(roles: readonly string[], { name, roleNames }: Policy): void {
  const unknown = roles.find((role) => !roleNames.includes(role))
  if (unknown === undefined) return
  const [meant] = nearest(unknown, roleNames, 1)
  const advice =
    meant === undefined ? `It defines ${roleNames.join(', ') || 'none: leave out --roles'}.` : `Did you mean ${meant}?`
  throw usageFault(`--roles: ${name} defines no role "${unknown}". ${advice}`)
}

function callerFrom({ subject, issuer, tenant, claims, scopes }: Values): Caller {
  return {
    tenant: tenant ?? ANONYMOUS.tenant,
    issuer: issuer ?? ANONYMOUS.issuer,
    subject: subject ?? ANONYMOUS.subject,
    scopes: listOf(scopes),
    ...(claims !== undefined && { claims: parseObject(claims, '--claims') }),
  }
}

function listOf(text: string | undefined): string[] {
  return (text ?? '').split(/[\s,]+/).filter((word) => word !== '')
}

function parseObject(text: string, option: string): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw usageFault(`${option} is not JSON.`, cause)
  }
  if (isJsonObject(value)) return value
  throw usageFault(`${option} must be a JSON object, such as {"a":1}.`)
}

/** Turns every fault before the evaluation into a usage fault, so that it does not look like a denial. */
async function asUsage<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (thrown) {
    throw thrown instanceof Fault ? usageFault(thrown.message, thrown) : thrown
  }
}

function asJson({ name, decision: { fault: _said, ...decision }, matched, roles }: Answer): JsonObject {
  return {
    operation: name,
    ...decision,
    roles: [...roles],
    matched: matched.map(({ reference, effect }) => ({ rule: reference, effect })),
  }
}

function describe({ name, decision, matched, roles }: Answer, { subject }: Caller): string {
  const { verdict, rule = '', reason } = decision
  return plainText(
    [
      `${name} called by ${subject}: ${WORDS[verdict]} by ${rule}`,
      ...(reason === undefined ? [] : [`  ${reason}`]),
      `Roles: ${roles.length > 0 ? roles.join(', ') : 'none'}`,
      `Rules that match: ${matched.length > 0 ? '' : 'none'}`.trimEnd(),
      ...matched.map(({ effect, reference }) => `  ${effect.padEnd(7)}  ${reference}`),
    ].join('\n'),
  )
}
