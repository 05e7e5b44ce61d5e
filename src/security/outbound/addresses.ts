/**
 * Decides which IP addresses a guarded request may connect to: public unicast addresses, and private ones if allowed.
 */
import { BlockList, isIPv4, isIPv6 } from 'node:net'

// IPv4 and IPv6 have separate lists: in a shared one an IPv6 range also matches the IPv4 addresses that it maps.

/** Private networks: only with `allowPrivate`. */
const PRIVATE_V4 = blockList('ipv4', '10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 172.16.0.0/12 192.168.0.0/16')
const PRIVATE_V6 = blockList('ipv6', '::1/128 fc00::/7')

/** Link-local, reserved, documentation, benchmarks, multicast. 100.100.100.200 and 168.63.129.16 are cloud services. */
const NEVER_V4 = blockList(
  'ipv4',
  '0.0.0.0/8 100.100.100.200/32 168.63.129.16/32 169.254.0.0/16 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15 ' +
    '198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4',
)

/**
 * All other ranges are refused, including those that embed an IPv4 address and could hide a private one: mapped
 * (::ffff:0:0/96), compatible (::/96), NAT64 (64:ff9b::/96, 64:ff9b:1::/48).
 */
const GLOBAL_V6 = blockList('ipv6', '2000::/3')

/** Protocol assignments with Teredo, documentation, 6to4; fd00:ec2::254 and fd20:ce::254 are metadata services. */
const NEVER_V6 = blockList('ipv6', '2001::/23 2001:db8::/32 2002::/16 3fff::/20 fd00:ec2::254/128 fd20:ce::254/128')

export function mayConnectTo(address: string, allowPrivate: boolean): boolean {
  if (isIPv4(address)) {
    if (NEVER_V4.check(address, 'ipv4')) return false
    return allowPrivate || !PRIVATE_V4.check(address, 'ipv4')
  }
  // A zone (`fe80::1%eth0`) names an interface of this machine.
  if (!isIPv6(address) || address.includes('%') || NEVER_V6.check(address, 'ipv6')) return false
  return GLOBAL_V6.check(address, 'ipv6') || (allowPrivate && PRIVATE_V6.check(address, 'ipv6'))
}

function blockList(family: 'ipv4' | 'ipv6', ranges: string): BlockList {
  const list = new BlockList()
  for (const range of ranges.split(' ')) {
    const [network = '', prefix] = range.split('/')
    list.addSubnet(network, Number(prefix), family)
  }
  return list
}
