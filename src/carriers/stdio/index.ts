export { createLineCarrier } from './lines.ts'
