/**
 * The oldest Node that runs this package. The file imports nothing, so that an older Node can load it and report the
 * problem.
 */

/** Same as `engines` in package.json. */
const MIN_NODE = [22, 18] as const

/** Returns the message for a Node that is too old; `undefined` for one that is new enough. */
export function nodeTooOld(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [minMajor, minMinor] = MIN_NODE
  if (major > minMajor || (major === minMajor && minor >= minMinor)) return undefined
  return `Callplane needs Node ${MIN_NODE.join('.')} or newer. This is Node ${version}. Install a newer Node and start again.`
}
