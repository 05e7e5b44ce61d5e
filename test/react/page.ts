/** The parts of a browser that the pages use: the tests are compiled without its types. */

interface Browser {
  location: { origin: string }
  document: {
    createElement(tag: string): Element
    body: { appendChild(child: Element): Element }
  }
}

const { location, document } = globalThis as unknown as Browser

export const { origin } = location

export function mountPoint(): Element {
  return document.body.appendChild(document.createElement('div'))
}
