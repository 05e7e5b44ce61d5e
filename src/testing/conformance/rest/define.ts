/** Defines a case of this suite: 6 is `rest:06`. */
import { createDefine } from '../define.ts'
import { Subject } from './subject.ts'

export const defineCase = createDefine('rest', 2, (target) => new Subject(target))
