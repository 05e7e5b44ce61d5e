/** The OpenCALL 2026-02-10 suite over HTTP, in the order of the document. */
import type { ConformanceCase } from '../case.ts'

export const opencallCases: readonly ConformanceCase[] = []
