export { type LineSession, serveLines } from './lines.ts'
