/** The path that a server is mounted below. The host may remove it from requests or leave it. */

/** Below `/api`, `/api/call` and `/call` are the same request. `/apis/call` is not below it. */
export function withoutBasePath(path: string, basePath: string): string {
  if (!path.startsWith(basePath)) return path
  const rest = path.slice(basePath.length)
  if (rest === '') return '/'
  return rest.startsWith('/') ? rest : path
}
