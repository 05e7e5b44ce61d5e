/**
 * One server of two workers, both in the test's process, so that the test can control their handlers and clocks. The
 * workers share state over real connections to a hub, as separate processes do.
 */
import type { Socket } from 'node:net'
import { join } from 'node:path'
import type { ServerOptions } from 'callplane'
import { onTestFinished } from 'vitest'
import type { Clock } from '../../src/core/ports/runtime.ts'
import { systemClock } from '../../src/server/build/environment.ts'
import { type CallplaneServer, openServer } from '../../src/server/create-server.ts'
import { createHub, type Hub, openLink, type WorkerLink } from '../../src/server/workers/index.ts'
import { openSocketPair } from '../../src/testing/fakes/socket-pair.ts'
import { callerOf, type Site, temporaryFolder } from '../scenarios/server.ts'

export interface WorkerSite extends Omit<Site, 'close'> {
  /** Cuts the connection as if the process had been killed. */
  cut(): void
  /** The worker's end of its connection to the hub. */
  readonly link: WorkerLink
}

export interface PairOptions<App> {
  /** The clock of the hub and of its store. */
  clock?: Clock
  hub?: Hub
  /** Options of the first worker. */
  first?: Partial<ServerOptions<App>>
}

export async function startPair<App>(
  options: ServerOptions<App>,
  { clock = systemClock, hub = createHub(clock), first = {} }: PairOptions<App> = {},
): Promise<[WorkerSite, WorkerSite]> {
  const data = options.data ?? temporaryFolder()
  const sites: WorkerSite[] = []
  const sockets: Socket[] = []
  onTestFinished(async () => {
    await Promise.all(sites.map(({ server }, at) => sockets[at]?.destroyed || server.close(0)))
    for (const socket of sockets) socket.destroy()
    await hub.close()
  })
  for (const number of [1, 2]) {
    const socket = await attach(hub, join(data, `line-${number}`))
    sockets.push(socket)
    const link = openLink(socket, number, clock)
    const server: CallplaneServer = await openServer({ ...options, ...(number === 1 && first), data }, link)
    const { url } = await server.listen({ port: 0 })
    sites.push({ ...callerOf(url), server, data, link, cut: () => void socket.destroy() })
  }
  return sites as [WorkerSite, WorkerSite]
}

/** Opens another process's end of a connection to the hub. */
export async function attach(hub: Hub, path: string, ended?: Promise<void>): Promise<Socket> {
  const [socket, other] = await openSocketPair(path)
  hub.attach(other, ended)
  return socket
}
