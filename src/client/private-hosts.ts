/**
 * Private addresses by their spelling. A public server must not send a client into the client's own network. A name that
 * resolves to a private address is not recognised: a browser cannot look it up.
 */

export function isPrivateHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\.?\]?$/g, '')
  if (/(?:^|\.)(?:localhost|local|internal)$/.test(host)) return true
  if (host.includes(':')) return /^(?:::1?$|::ffff:|64:ff9b:|f[cd]|fe[89ab])/.test(host)
  // `URL` writes every IPv4 address as four decimal numbers.
  const octets = /^(\d+)\.(\d+)\.\d+\.\d+$/.exec(host)
  if (!octets) return false
  const [a, b] = [Number(octets[1]), Number(octets[2])]
  return (
    [0, 10, 127].includes(a) ||
    (a === 169 && b === 254) ||
    (a === 172 && b >> 4 === 1) ||
    (a === 192 && b === 168) ||
    (a === 100 && b >> 6 === 1)
  )
}
