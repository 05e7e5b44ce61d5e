export function buildConsole(options?: { always?: boolean; tell?(line: string): void }): Promise<boolean>
