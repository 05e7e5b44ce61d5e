/** Where a one-time code is used, below the server's address. It is in the fragment, which browsers send to no server. */
export function loginPath(code: string): string {
  return `/explorer/#/login?code=${encodeURIComponent(code)}`
}
