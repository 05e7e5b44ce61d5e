/** All findings about the arguments as they stand: the schema's, and those of the server's JSON reader. */
import { chooseBranch } from '../schema/branches.ts'
import type { FormModel } from '../schema/model.ts'
import { nodeAt } from '../text/nodes.ts'
import { asDouble } from '../text/numbers.ts'
import type { Parsed } from '../text/parse.ts'
import { Checker, checkText } from './checker.ts'
import type { Problem } from './problem.ts'

export interface Checked {
  readonly problems: readonly Problem[]
  /** True if some part can only be checked by the server. */
  readonly incomplete: boolean
}

export function checkArguments(model: FormModel, { root }: Parsed): Checked {
  if (!root) return { problems: [], incomplete: false }
  const checker = new Checker(model.document, model.facts, (schema, branches, path) => {
    const node = nodeAt(root, path)
    return node && chooseBranch(model, schema, branches, node, model.pickOf(schema, path))
  })
  checkText(root, [], checker.problems, asDouble)
  checker.check(model.document.root, root, [])
  return { problems: unique(checker.problems), incomplete: checker.incomplete }
}

/** A value can be checked twice by the same keyword, once for each schema that applies. */
function unique(problems: readonly Problem[]): Problem[] {
  const seen = new Set<string>()
  return problems.filter((problem) => {
    const key = JSON.stringify([problem.path, problem.keyword, problem.wanted])
    return !seen.has(key) && seen.add(key)
  })
}
