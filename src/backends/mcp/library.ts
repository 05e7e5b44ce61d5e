/** Loads the official MCP client on first use, because most servers import nothing. */
import { Fault } from '../../core/fault.ts'

export type Library = typeof import('@modelcontextprotocol/client') &
  typeof import('@modelcontextprotocol/client/stdio') &
  typeof import('./process-transport.ts')

export async function loadLibrary(): Promise<Library> {
  try {
    const [client, stdio, own] = await Promise.all([
      import('@modelcontextprotocol/client'),
      import('@modelcontextprotocol/client/stdio'),
      import('./process-transport.ts'),
    ])
    return { ...client, ...stdio, ...own }
  } catch (cause) {
    throw new Fault(
      'policy-invalid',
      'Tools of MCP servers need the package @modelcontextprotocol/client. Run npm install @modelcontextprotocol/client.',
      { code: 'PACKAGE_MISSING', cause },
    )
  }
}
