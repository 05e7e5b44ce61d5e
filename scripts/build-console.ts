/** `npm run build:console`: builds the console's files if they are absent or older than their sources. */
import { buildConsole } from './console-files.ts'

await buildConsole()
