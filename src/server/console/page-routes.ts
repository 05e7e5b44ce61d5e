/** The routes of the console's page: the same page at `/explorer/` and `/console/`, and its files. */
import { gzipSync } from 'node:zlib'
import type { Answer, Exchange, Refuse, Route } from '../../core/ports/exchange.ts'
import { escapeHtml, redirectInto } from '../../wire/http/pages.ts'
import { type ConsoleFiles, openConsoleFiles, tagOf } from './files.ts'
import { chooseForm, type Forms, fileHeaders, PAGE_HEADERS } from './headers.ts'

const CONSOLE = '/console'

const WITHOUT_SCRIPTS =
  '<p>The console needs scripts. <a href="../explorer/">The list of operations</a> works without them.</p>'

/** Puts text for browsers without scripts into the page. `noscript` is HTML, and `title` is text. */
export type FramePage = (exchange: Exchange, title: string | undefined, noscript: string) => Answer

function createPageFrame({ index }: Pick<ConsoleFiles, 'index'>): FramePage {
  const end = index.lastIndexOf('</body>')
  const [head, tail] = end < 0 ? [index, ''] : [index.slice(0, end), index.slice(end)]
  /** The last page. Nearly all requests are for the same one. */
  let last: { text: string; forms: Forms } | undefined
  return (exchange, title, noscript) => {
    // With a function, because a title may contain "$&".
    const titled =
      title === undefined ? head : head.replace(/<title>[^<]*<\/title>/, () => `<title>${escapeHtml(title)}</title>`)
    const text = `${titled}<noscript>${noscript}</noscript>\n${tail}`
    if (last?.text !== text) last = { text, forms: formsOf(text) }
    return chooseForm(exchange, last.forms, PAGE_HEADERS)
  }
}

function formsOf(text: string): Forms {
  let zipped: Uint8Array | undefined
  return {
    tag: tagOf(text),
    plain: Buffer.from(text),
    get gzip() {
      zipped ??= gzipSync(text)
      return zipped
    },
  }
}

export interface ConsolePage {
  frame: FramePage
  routes: readonly Route[]
}

/** `undefined` if the page has not been built. `explorer` is the path of the explorer. */
export function openConsolePage(explorer: string, refuse: Refuse, folder?: string): ConsolePage | undefined {
  const files = openConsoleFiles(folder)
  if (!files) return undefined
  const frame = createPageFrame(files)
  const routes = [
    ...createConsolePage(frame, refuse),
    ...[CONSOLE, explorer].flatMap((prefix) => createFileRoutes(files, prefix, refuse)),
  ]
  return { frame, routes }
}

/** The page at `/console/`. */
function createConsolePage(frame: FramePage, refuse: Refuse): Route[] {
  const page = (exchange: Exchange) => frame(exchange, undefined, WITHOUT_SCRIPTS)
  return [
    { path: `${CONSOLE}/`, refuse, methods: { GET: page } },
    { path: CONSOLE, refuse, methods: { GET: () => redirectInto(CONSOLE) } },
  ]
}

/** The page's files below `prefix`. A path that names no file is not one of these routes. */
function createFileRoutes(files: ConsoleFiles, prefix: string, refuse: Refuse): Route[] {
  const nameIn = (path: string) => path.slice(prefix.length + 1)
  const accepts = (path: string) => files.has(nameIn(path))
  const send = (exchange: Exchange): Answer => {
    const file = files.read(nameIn(exchange.path))
    if (!file) return refuse(exchange, { kind: 'path' })
    return chooseForm(exchange, file, fileHeaders(file.mediaType, file.isHashed))
  }
  return [`${prefix}/assets/{name+}`, `${prefix}/{name}`].map((path) => ({
    path,
    accepts,
    refuse,
    methods: { GET: send },
  }))
}
