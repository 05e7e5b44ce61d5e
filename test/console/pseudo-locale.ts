/**
 * Builds the page with a catalogue that is made of the English one: every text is between ⟦ and ⟧, and 40 % longer. It is
 * a plugin of the build, so the page that ships has no code for it.
 */
import { join } from 'node:path'
import type { Plugin } from 'vite'
import { type BuiltPage, buildPart } from './forms/build-part.ts'

const CATALOGUE = /\/console\/src\/texts\/en\/[\w-]+\.ts$/
const TEXTS = 'export const texts ='

/** Runs in the page. */
const PSEUDO = `
const longer = (text) => {
  const wanted = Math.ceil(text.length * 1.4)
  // Long words are the difficulty, so the letters are repeated within the words.
  const accented = text.replace(/[aeiouy]/g, (letter) => letter + { a: 'å', e: 'é', i: 'î', o: 'ö', u: 'û', y: 'ý' }[letter])
  return '⟦' + accented.padEnd(wanted, '~') + '⟧'
}
const pseudo = (value) => {
  if (typeof value === 'string') return value === '' ? '' : longer(value)
  if (typeof value === 'function') return (...given) => pseudo(value(...given))
  if (Array.isArray(value)) return value.map(pseudo)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, pseudo(one)]))
}
export const texts = pseudo(plainTexts)
`

function pseudoLocale(): Plugin {
  return {
    name: 'pseudo-locale',
    enforce: 'pre',
    transform(code, id) {
      if (!CATALOGUE.test(id)) return undefined
      if (!code.includes(TEXTS)) throw new Error(`${id} has no texts.`)
      return { code: code.replace(TEXTS, 'const plainTexts =') + PSEUDO, map: null }
    },
  }
}

export function buildPseudoPage(): Promise<BuiltPage> {
  return buildPart(join(import.meta.dirname, '../../console'), [pseudoLocale()])
}
