/** The path below which a server is mounted, where the host takes it off requests or leaves it on. */

/** `/api/call` and `/call` are the same request below `/api`; `/apis/call` is not below it. */
export function withoutBasePath(path: string, basePath: string): string {
  if (!path.startsWith(basePath)) return path
  const rest = path.slice(basePath.length)
  if (rest === '') return '/'
  return rest.startsWith('/') ? rest : path
}
