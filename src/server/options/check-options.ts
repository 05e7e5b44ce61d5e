/**
 * Checks options that TypeScript does not see. A misspelt option is refused, because it may have been meant to restrict
 * access. The names are records, so that a new option does not compile until it is named here.
 */
import type { Weights } from '../../core/fairness/fair-turns.ts'
import { Fault } from '../../core/fault.ts'
import type { LimitRules } from '../../engine/limits/limit-rules.ts'
import type { AuthConfig, JwtRules, StaticToken } from '../../security/identity/identify.ts'
import type { FetcherOptions } from '../../security/outbound/fetcher.ts'
import { isSecretName } from '../../security/secrets/provider.ts'
import type { SigningOptions } from '../../security/signatures.ts'
import { type AnnounceOptions, EVENTS } from '../announcements/announcements.ts'
import { parseCells } from './cells.ts'
import { CONSOLE_NAMES, CONSOLE_OIDC_NAMES, checkConsole } from './console.ts'
import { checkKafka, KAFKA, KAFKA_SASL, KAFKA_TLS, KAFKA_TOPIC_NAMES } from './kafka.ts'
import { checkMqtt, MQTT_NAMES } from './mqtt.ts'
import { checkObjects } from './objects.ts'
import type {
  ContractOptions,
  GrpcServerOptions,
  KeyOptions,
  McpOptions,
  OpenCallOptions,
  OxpOptions,
  RestOptions,
  ServerOptions,
  Sizes,
  ToolOptions,
  WorkSettings,
} from './options.ts'
import { checkPostgres, POSTGRES } from './postgres.ts'
import { checkQuic, type QuicOptions } from './quic.ts'
import { checkTls, type TlsOptions } from './tls.ts'
import { checkWebRtc } from './webrtc.ts'

type Names<T> = Record<keyof T, true>

export const OPTIONS: Names<ServerOptions> = {
  operations: true,
  imports: true,
  context: true,
  data: true,
  acceptLoss: true,
  auth: true,
  cells: true,
  publicUrl: true,
  basePath: true,
  hosts: true,
  cors: true,
  upgrades: true,
  websocket: true,
  kafka: true,
  webrtc: true,
  tls: true,
  mqtt: true,
  quic: true,
  references: true,
  limits: true,
  sizes: true,
  work: true,
  opencall: true,
  oxp: true,
  mcp: true,
  rest: true,
  console: true,
  toolkit: true,
  tools: true,
  authorization: true,
  vault: true,
  links: true,
  signing: true,
  policy: true,
  guards: true,
  secrets: true,
  tokenEndpoints: true,
  contract: true,
  grpc: true,
  announce: true,
  audit: true,
  deadLetters: true,
  log: true,
  logTo: true,
  requestLog: true,
  executionLog: true,
  store: true,
  objects: true,
  clock: true,
}

const AUTH: Names<AuthConfig> = { verify: true, tokens: true, jwt: true, tenant: true }
const TOKEN: Names<StaticToken> = {
  hash: true,
  kind: true,
  subject: true,
  scopes: true,
  expiresAt: true,
  tenant: true,
}
const JWT: Names<JwtRules> = {
  issuer: true,
  audience: true,
  subject: true,
  key: true,
  clockToleranceSeconds: true,
  requireExpiry: true,
  tenantClaim: true,
  scopeClaims: true,
}
const CORS: Names<NonNullable<ServerOptions['cors']>> = { origins: true }
const REFERENCES: Names<FetcherOptions> = {
  allowHosts: true,
  allowPrivate: true,
  resolve: true,
  timeoutMs: true,
  totalTimeoutMs: true,
  maxRedirects: true,
}
const LIMITS: Names<LimitRules> = {
  callsPerSecond: true,
  callBurst: true,
  openCallsPerCaller: true,
  pendingApprovalsPerCaller: true,
  queuedCalls: true,
  runningCalls: true,
  reservedCalls: true,
  waitingCalls: true,
  slotWaitMs: true,
  weights: true,
  pollBurst: true,
  pollIntervalMs: true,
  streamsPerCaller: true,
  framesPerSecond: true,
  frameBytesPerSecond: true,
}
const SIZES: Names<Sizes> = { envelopeBytes: true, uploadBytes: true, chunkBytes: true, objectBytes: true }
const WORK: Names<WorkSettings> = {
  leaseMs: true,
  claimEveryMs: true,
  maxCutOffs: true,
  progressEveryMs: true,
  stopGraceMs: true,
}
const OPENCALL: Names<OpenCallOptions> = { strict: true, listRemoved: true, eventStreamsPerCaller: true }
const OXP: Names<OxpOptions> = { unauthorizedStatus: true }
const MCP: Names<McpOptions> = {
  shape: true,
  name: true,
  title: true,
  version: true,
  instructions: true,
  resources: true,
  prompts: true,
  administration: true,
  tasksOnly: true,
}
const REST: Names<RestOptions> = {
  allowExecute: true,
  authHook: true,
  title: true,
  projectName: true,
  projectUrl: true,
}
const KEYS: Names<KeyOptions> = { key: true, oldKeys: true }
const TOOLS: Names<ToolOptions> = { bareNames: true }
const CONTRACT: Names<ContractOptions> = { details: true }
const GRPC: Names<GrpcServerOptions> = { host: true, port: true, tls: true }
const TLS: Names<TlsOptions> = { cert: true, key: true }
const QUIC: Names<QuicOptions> = {
  host: true,
  port: true,
  rawPort: true,
  idleTimeoutMs: true,
  streamsPerConnection: true,
}
const DEAD_LETTERS: Names<NonNullable<ServerOptions['deadLetters']>> = { keepDays: true }
const AUDIT: Names<NonNullable<ServerOptions['audit']>> = { keepDays: true }
const ANNOUNCE: Names<AnnounceOptions> = { url: true, secretRef: true, events: true, allowPrivate: true }
const SIGNING: Names<SigningOptions> = { keyId: true, privateKey: true }

export function checkOptions(options: Omit<ServerOptions, 'operations' | 'context'>): void {
  check('createServer', options, OPTIONS)
  check('auth', options.auth, AUTH)
  for (const [at, token] of (options.auth?.tokens ?? []).entries()) check(`auth.tokens[${at}]`, token, TOKEN)
  for (const [at, rules] of (options.auth?.jwt ?? []).entries()) check(`auth.jwt[${at}]`, rules, JWT)
  check('cors', options.cors, CORS)
  check('mqtt', options.mqtt, MQTT_NAMES)
  if (options.mqtt) checkMqtt(options.mqtt)
  if (options.objects !== undefined) checkObjects(options.objects)
  check('references', options.references, REFERENCES)
  check('limits', options.limits, LIMITS)
  checkLimits(options.limits)
  check('sizes', options.sizes, SIZES)
  check('work', options.work, WORK)
  checkAmounts('work', options.work)
  check('opencall', options.opencall, OPENCALL)
  check('oxp', options.oxp, OXP)
  check('mcp', options.mcp, MCP)
  const { shape = 'operations' } = options.mcp ?? {}
  if (shape !== 'operations' && shape !== 'call') throw refused('mcp.shape must be "operations" or "call".')
  check('rest', options.rest, REST)
  if (options.console !== false) check('console', options.console, CONSOLE_NAMES)
  if (options.console) {
    check('console.oidc', options.console.oidc, CONSOLE_OIDC_NAMES)
    checkConsole(options.console, options.auth)
  }
  check('vault', options.vault, KEYS)
  check('links', options.links, KEYS)
  check('signing', options.signing, SIGNING)
  check('tools', options.tools, TOOLS)
  check('contract', options.contract, CONTRACT)
  const { details = 'json' } = options.contract ?? {}
  if (details !== 'json' && details !== 'strings') throw refused('contract.details must be "json" or "strings".')
  check('grpc', options.grpc, GRPC)
  check('kafka', options.kafka, KAFKA)
  check('kafka.topics', options.kafka?.topics, KAFKA_TOPIC_NAMES)
  check('kafka.sasl', options.kafka?.sasl, KAFKA_SASL)
  if (typeof options.kafka?.tls === 'object') check('kafka.tls', options.kafka.tls, KAFKA_TLS)
  if (options.kafka) checkKafka(options.kafka)
  checkWebRtc(options.webrtc)
  check('tls', options.tls, TLS)
  if (options.tls) checkTls(options.tls)
  check('quic', options.quic, QUIC)
  if (options.quic) checkQuic(options.quic, options.tls)
  if (options.cells) checkCells(options)
  checkStore(options.store)
  check('audit', options.audit, AUDIT)
  check('deadLetters', options.deadLetters, DEAD_LETTERS)
  check('announce', options.announce, ANNOUNCE)
  if (options.announce) checkAnnounce(options.announce)
  if (options.publicUrl !== undefined) checkPublicUrl(options.publicUrl)
}

/** Without authentication, all callers are one. */
function checkCells({ cells, auth, authorization }: Pick<ServerOptions, 'cells' | 'auth' | 'authorization'>): void {
  parseCells(cells)
  if (authorization)
    throw refused('"cells" and "authorization" exclude each other: a provider redirects people to any of the cells.')
  if (!auth) throw refused('"cells" needs "auth": callers are divided by who they are.')
}

function checkStore(store: ServerOptions['store']): void {
  if (typeof store === 'string') checkPostgres({ url: store })
  if (typeof store !== 'object' || !('url' in store)) return
  check('store', store, POSTGRES)
  checkPostgres(store)
}

function check(where: string, given: unknown, names: Record<string, true>): void {
  if (given === undefined) return
  if (typeof given !== 'object' || given === null) throw refused(`"${where}" must be an object.`)
  const unknown = Object.keys(given).find((key) => !Object.hasOwn(names, key))
  if (unknown === undefined) return
  throw refused(`${where} has no option "${unknown}". The options are ${Object.keys(names).join(', ')}.`)
}

const WEIGHTS: Names<Weights> = { tenants: true, callers: true }

function checkLimits({ weights, ...amounts }: Partial<LimitRules> = {}): void {
  checkAmounts('limits', amounts)
  check('limits.weights', weights, WEIGHTS)
  for (const [kind, named] of Object.entries(weights ?? {})) {
    for (const [name, weight] of Object.entries<number>(named ?? {})) {
      if (Number.isSafeInteger(weight) && weight >= 1) continue
      throw refused(`limits.weights.${kind}["${name}"] must be a whole number of at least 1.`)
    }
  }
}

/** NaN would be no limit, and Infinity cannot be sent to another process or a database. */
function checkAmounts(where: string, given: object = {}): void {
  for (const [name, value] of Object.entries(given)) {
    if (Number.isFinite(value) && value >= 0) continue
    throw refused(`${where}.${name} must be a finite number of at least 0. To lift the limit, use a large number.`)
  }
}

function checkAnnounce({ url, secretRef, events = EVENTS }: AnnounceOptions): void {
  const target = typeof url === 'string' ? URL.parse(url) : null
  if (target?.protocol !== 'https:' && target?.protocol !== 'http:') {
    throw refused(
      'announce.url must be the URL that receives announcements, such as https://hooks.example.com/callplane.',
    )
  }
  if (typeof secretRef !== 'string' || !isSecretName(secretRef)) {
    throw refused('announce.secretRef must be the name of the signing secret, such as announce-key.')
  }
  const unknown = Array.isArray(events) ? events.find((event) => !EVENTS.includes(event)) : 'none'
  if (unknown === undefined) return
  throw refused(`announce.events must be a list of ${EVENTS.join(' and ')}; "${unknown}" is none of them.`)
}

function checkPublicUrl(publicUrl: unknown): void {
  const url = typeof publicUrl === 'string' && URL.canParse(publicUrl) ? new URL(publicUrl) : undefined
  const web = url?.protocol === 'https:' || url?.protocol === 'http:'
  if (url && web && url.username === '' && url.password === '' && !/[?#]/.test(url.href)) return
  throw refused(
    'publicUrl must be the URL that callers use, such as https://tools.example.com, optionally with a path.',
  )
}

function refused(message: string): Fault {
  return new Fault('malformed', message, { code: 'INVALID_OPTION' })
}
