/** Addresses of the form `host:port`. An IPv6 address is in brackets. */

export interface HostPort {
  host: string
  port: number
}

const SHAPE = /^(?:\[([\da-fA-F:.%]+)\]|([^\s:[\]]+)):(\d{1,5})$/

export function parseHostPort(text: string): HostPort | undefined {
  const [, inBrackets, plain, digits = ''] = SHAPE.exec(text) ?? []
  const host = inBrackets ?? plain
  const port = Number(digits)
  return host !== undefined && port > 0 && port < 65_536 ? { host, port } : undefined
}

export function formatHostPort({ host, port }: HostPort): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
