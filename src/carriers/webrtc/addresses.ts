/** The addresses that the server announces to its peers, and those to which it binds its sockets. */
import { isIP, isIPv4 } from 'node:net'
import { networkInterfaces } from 'node:os'

const LOOPBACK = '127.0.0.1'
const WILDCARDS = ['0.0.0.0', '::']

/**
 * The address of the HTTP server, from its URL. A server on all addresses announces all of them. The addresses behind a
 * public name are not known here: the operator sets them.
 */
export function defaultHosts(origin: string): readonly string[] {
  const host = new URL(origin).hostname.replace(/^\[|\]$/g, '')
  if (WILDCARDS.includes(host)) return ownAddresses().filter((address) => !address.startsWith('fe80:'))
  return isIP(host) ? [host] : [LOOPBACK]
}

/**
 * Sockets of a family bind to the announced address if it is the only one and belongs to this machine. An announced
 * address outside of this machine, such as that of a gateway, needs a socket on all addresses.
 */
export function bindingFor(hosts: readonly string[]): { udp4?: string; udp6?: string } {
  const [four, ...moreFours] = hosts.filter((host) => isIPv4(host))
  const [six, ...moreSixes] = hosts.filter((host) => !isIPv4(host))
  const own = ownAddresses()
  return {
    ...(four !== undefined && moreFours.length === 0 && own.includes(four) && { udp4: four }),
    ...(six !== undefined && moreSixes.length === 0 && own.includes(six) && { udp6: six }),
  }
}

function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses = []) => addresses.map(({ address }) => address))
}
