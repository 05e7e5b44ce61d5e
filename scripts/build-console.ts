/** `npm run build:console`: builds the console's files, also if they are there already. */
import { buildConsole } from './console-files.ts'

await buildConsole({ always: true })
