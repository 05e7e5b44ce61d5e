/** How many peers a server is connected to. */
import type { Site } from '../../scenarios/server.ts'

/** The server says in `/ready` how many peers are connected. */
export async function untilConnections(site: Site, expected: number): Promise<void> {
  for (;;) {
    const ready = (await (await site.request('/ready')).json()) as { carriers: { webrtc: { detail: string } } }
    if (ready.carriers.webrtc.detail === `${expected} connections`) return
  }
}
