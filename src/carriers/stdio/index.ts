export { serveLines } from './lines.ts'
