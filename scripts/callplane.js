/**
 * Runs the command line from the sources. It is plain JavaScript, so that the compile cache is on before Node loads the
 * first TypeScript file. From the second start on, this saves 45 MB and 200 ms of type stripping.
 */
import { enableCompileCache } from 'node:module'

enableCompileCache()
await import('../src/cli/main.ts')
