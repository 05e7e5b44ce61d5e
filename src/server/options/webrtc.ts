/** Options of streams over WebRTC. */
import { isIP } from 'node:net'
import { Fault } from '../../core/fault.ts'

export interface WebRtcOptions {
  /**
   * IP addresses at which readers reach this machine, such as its public one. Default: the address that the HTTP server
   * listens on, or 127.0.0.1 if `publicUrl` has a name.
   */
  hosts?: readonly string[]
  /** The first and the last UDP port, as your firewall allows. Default: any free port. */
  ports?: readonly [number, number]
  /** How many readers may be connected to this process at once. Default: 1,000. */
  maxConnections?: number
}

const NAMES: Record<keyof WebRtcOptions, true> = { hosts: true, ports: true, maxConnections: true }

/** Throws a fault if an option is wrong. */
export function checkWebRtc(given: unknown): void {
  if (given === undefined || typeof given === 'boolean') return
  if (typeof given !== 'object' || given === null) throw refused('"webrtc" must be true, false or an object.')
  const unknown = Object.keys(given).find((key) => !Object.hasOwn(NAMES, key))
  if (unknown !== undefined) {
    throw refused(`webrtc has no option "${unknown}". The options are ${Object.keys(NAMES).join(', ')}.`)
  }
  const { hosts, ports, maxConnections = 1 }: { [name in keyof WebRtcOptions]?: unknown } = given
  if (hosts !== undefined && !isAddressList(hosts)) {
    throw refused('webrtc.hosts must be a list of IP addresses, such as ["203.0.113.7"]. Names are not looked up.')
  }
  if (ports !== undefined && !isRange(ports)) {
    throw refused('webrtc.ports must be two different ports in ascending order, such as [50000, 50100].')
  }
  if (!Number.isSafeInteger(maxConnections) || (maxConnections as number) < 1) {
    throw refused('webrtc.maxConnections must be a whole number of at least 1.')
  }
}

function isAddressList(hosts: unknown): boolean {
  return Array.isArray(hosts) && hosts.length > 0 && hosts.every((host) => typeof host === 'string' && isIP(host) > 0)
}

function isRange(ports: unknown): boolean {
  if (!Array.isArray(ports) || ports.length !== 2) return false
  const [min, max] = ports
  return Number.isInteger(min) && Number.isInteger(max) && 1 <= min && min < max && max <= 65_535
}

function refused(message: string): Fault {
  return new Fault('malformed', message, { code: 'INVALID_OPTION' })
}
