/** Defines a case of this suite: 6 is `opencall:006`. */
import { createDefine } from '../define.ts'
import { Subject } from './subject.ts'

export const defineCase = createDefine('opencall', 3, (target) => new Subject(target))
