export async function watch(_path: string | undefined, _io: unknown): Promise<number> {
  return 2
}
