/**
 * The settings of a server started from the command line. Flags override the environment, and both override the
 * application.
 */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { AuthConfig } from '../../security/identity/identify.ts'
import { type StaticToken, takeEnvironmentToken } from '../../security/identity/tokens.ts'
import { isLoopback } from '../../server/options/loopback.ts'
import { MAX_PACKET_BYTES } from '../../server/options/mqtt.ts'
import type { PeersOptions } from '../../server/options/postgres.ts'
import type { QuicOptions } from '../../server/options/quic.ts'
import { parseArguments, parseWhole } from '../arguments.ts'
import { type CommandIo, usageFault } from '../command.ts'
import type { ServerSettings } from './application.ts'
import { readCells } from './cells.ts'
import { kafkaOver } from './kafka.ts'
import { requirePostgres } from './store-place.ts'

const MAX_WORKERS = 256
const LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const

export interface ServeSettings {
  path: string | undefined
  watch: boolean
  /** The number of worker processes beside the hub. `undefined`: one process does everything. */
  workers: number | undefined
  host: string
  port: number
  /** The policy file that the command line names. */
  policy: string | undefined
  /** The level on the command line; the application may set another. */
  logLevel: (typeof LEVELS)[number] | undefined
  /** Applies these settings over the application's own. */
  over(own: ServerSettings): ServerSettings & { data: string }
}

export function parseServe({ args, env }: Pick<CommandIo, 'args' | 'env'>): ServeSettings {
  const { values, positionals } = parseArguments(
    args,
    {
      port: { type: 'string', short: 'p' },
      host: { type: 'string' },
      data: { type: 'string' },
      store: { type: 'string' },
      'node-address': { type: 'string' },
      'no-migrate': { type: 'boolean', default: false },
      'accept-loss': { type: 'boolean', default: false },
      policy: { type: 'string' },
      'grpc-port': { type: 'string' },
      websocket: { type: 'boolean', default: false },
      'no-websocket': { type: 'boolean', default: false },
      webrtc: { type: 'boolean', default: false },
      quic: { type: 'string' },
      'quic-raw-port': { type: 'string' },
      'tls-cert': { type: 'string' },
      'tls-key': { type: 'string' },
      mqtt: { type: 'string' },
      'mqtt-max-packet': { type: 'string' },
      objects: { type: 'string' },
      kafka: { type: 'string' },
      cells: { type: 'string' },
      cell: { type: 'string' },
      watch: { type: 'boolean', default: false },
      workers: { type: 'string' },
      'log-level': { type: 'string' },
      'no-request-log': { type: 'boolean', default: false },
      'no-execution-log': { type: 'boolean', default: false },
      strict: { type: 'boolean', default: false },
      token: { type: 'string' },
    },
    1,
  )
  const level = LEVELS.find((known) => known === values['log-level'])
  if (values['log-level'] !== undefined && !level) throw usageFault(`--log-level must be one of ${LEVELS.join(', ')}.`)
  const port = values.port ?? (env.PORT || '4747')
  const host = values.host ?? '127.0.0.1'
  const grpcPort = values['grpc-port']
  const grpc = grpcPort !== undefined && { port: parseWhole(grpcPort, '--grpc-port', 0, 65_535) }
  const workers = values.workers === undefined ? undefined : parseWhole(values.workers, '--workers', 1, MAX_WORKERS)
  if (values.watch && workers !== undefined)
    throw usageFault('--watch works with one process only. Leave out --watch or --workers.')
  if (values.websocket && values['no-websocket']) throw usageFault('Pass --websocket or --no-websocket, not both.')
  const tls = readTls(values['tls-cert'], values['tls-key'])
  const cells = readCells(values.cells, values.cell)
  const quic = parseQuic(values.quic, values['quic-raw-port'])
  const nodeAddress = parseNodeAddress(values['node-address'])
  const objects = values.objects ?? (env.CALLPLANE_OBJECTS || undefined)
  const data = values.data ?? (env.CALLPLANE_DATA || undefined)
  return {
    path: positionals[0],
    watch: values.watch,
    workers,
    host,
    port: parseWhole(port, values.port === undefined ? 'PORT' : '--port', 0, 65_535),
    policy: values.policy,
    logLevel: level,
    over(own) {
      const token = takeToken(values.token, env)
      const mqtt = takeMqtt(values.mqtt, env, own.mqtt, values['mqtt-max-packet'])
      const store = takeStore(values.store, env, own.store, nodeAddress, !values['no-migrate'])
      const kafka = kafkaOver(own.kafka, values.kafka, env)
      return {
        log: 'info',
        requestLog: !values['no-request-log'],
        ...own,
        ...(level && { log: level }),
        ...(values['no-request-log'] && { requestLog: false }),
        ...(values['no-execution-log'] && { executionLog: false }),
        ...(values['accept-loss'] && { acceptLoss: true }),
        data: resolve(data ?? own.data ?? '.callplane'),
        rest: { allowExecute: isLoopback(host) && !token && own.auth === undefined, ...own.rest },
        ...(values.policy !== undefined && { policy: values.policy }),
        ...(grpc && { grpc: { ...own.grpc, ...(values.host !== undefined && { host }), ...grpc } }),
        ...(values.websocket && { websocket: true }),
        ...(values['no-websocket'] && { websocket: false }),
        ...(values.webrtc && { webrtc: own.webrtc || true }),
        ...(tls && { tls }),
        ...(mqtt && { mqtt }),
        ...(objects !== undefined && { objects }),
        ...(store && { store }),
        ...(quic && { quic: { ...own.quic, ...quic } }),
        ...(kafka && { kafka }),
        ...(cells && { cells }),
        ...(values.strict && { opencall: { ...own.opencall, strict: true } }),
        ...(token && { auth: withToken(own.auth, token) }),
      }
    },
  }
}

function parseQuic(address: string | undefined, raw: string | undefined): QuicOptions | undefined {
  if (address === undefined) {
    if (raw !== undefined) throw usageFault('--quic-raw-port needs --quic, the address of HTTP/3.')
    return undefined
  }
  const [, host, port = ''] = /^(?:(.+):)?(\d+)$/.exec(address) ?? []
  if (port === '') throw usageFault('--quic must be a port or an address, such as 4433 or 127.0.0.1:4433.')
  return {
    ...(host !== undefined && { host: host.replace(/^\[(.*)\]$/, '$1') }),
    port: parseWhole(port, '--quic', 0, 65_535),
    ...(raw !== undefined && { rawPort: parseWhole(raw, '--quic-raw-port', 0, 65_535) }),
  }
}

function readTls(cert: string | undefined, key: string | undefined): { cert: Buffer; key: Buffer } | undefined {
  if (cert === undefined && key === undefined) return undefined
  if (cert === undefined || key === undefined)
    throw usageFault('--tls-cert and --tls-key need each other. Name a file for both.')
  return { cert: readNamed('--tls-cert', cert), key: readNamed('--tls-key', key) }
}

function readNamed(flag: string, file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (thrown) {
    const { code = 'unreadable' } = thrown as NodeJS.ErrnoException
    throw usageFault(`${flag}: cannot read ${file} (${code}). Name a PEM file that this user can read.`)
  }
}

function takeToken(flag: string | undefined, env: CommandIo['env']): StaticToken | undefined {
  const grants = { kind: 'bearer', subject: 'operator', scopes: ['*', 'callplane:metrics'] } as const
  // Always removed from the environment, so that no handler can read it.
  const fromEnvironment = takeEnvironmentToken(env, 'CALLPLANE_TOKEN', grants)
  return flag === undefined ? fromEnvironment : takeEnvironmentToken({ '--token': flag }, '--token', grants)
}

/** The address has a password, so it is always removed from the environment. */
function takeStore(
  flag: string | undefined,
  env: CommandIo['env'],
  own: ServerSettings['store'],
  peers: PeersOptions | undefined,
  migrates: boolean,
): ServerSettings['store'] | undefined {
  const url = flag ?? (env.CALLPLANE_STORE || undefined)
  delete env.CALLPLANE_STORE
  if (url !== undefined) requirePostgres('--store', url)
  const given = typeof own === 'string' ? { url: own } : own
  const settings = typeof given === 'object' && 'url' in given ? given : undefined
  const store = url === undefined ? settings : { ...settings, url }
  if (!store) {
    if (!migrates) throw usageFault('--no-migrate needs a Postgres store: pass --store.')
    if (peers) throw usageFault('--node-address needs --store, the database that the nodes share.')
    return own
  }
  return {
    ...store,
    ...(!migrates && { migrate: false }),
    ...(peers && { peers: { ...(store.peers || {}), ...peers } }),
  }
}

function parseNodeAddress(address: string | undefined): PeersOptions | undefined {
  if (address === undefined) return undefined
  const [, host, port = ''] = /^(.+):(\d+)$/.exec(address) ?? []
  if (host === undefined) throw usageFault('--node-address must be a host and a port, such as 10.0.0.5:4749.')
  return { host: host.replace(/^\[(.*)\]$/, '$1'), port: parseWhole(port, '--node-address', 0, 65_535) }
}

/** The password is always removed from the environment, so that no handler can read it. */
function takeMqtt(
  flag: string | undefined,
  env: CommandIo['env'],
  own: ServerSettings['mqtt'],
  maxPacket: string | undefined,
): ServerSettings['mqtt'] | undefined {
  const { CALLPLANE_MQTT, CALLPLANE_MQTT_USERNAME: username, CALLPLANE_MQTT_PASSWORD: password } = env
  delete env.CALLPLANE_MQTT
  delete env.CALLPLANE_MQTT_PASSWORD
  const url = flag ?? (CALLPLANE_MQTT || own?.url)
  if (url === undefined) {
    if (maxPacket !== undefined) throw usageFault('--mqtt-max-packet needs --mqtt, the address of the broker.')
    return undefined
  }
  return {
    ...own,
    url,
    ...(username && { username }),
    ...(password && { password }),
    ...(maxPacket !== undefined && { maxPacketBytes: parseWhole(maxPacket, '--mqtt-max-packet', 1, MAX_PACKET_BYTES) }),
  }
}

function withToken(auth: AuthConfig | undefined, token: StaticToken): AuthConfig {
  return { ...auth, tokens: [...(auth?.tokens ?? []), token] }
}
