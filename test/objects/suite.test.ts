import { describe, expect, test } from 'vitest'
import { describeObjectStore } from '../../src/testing/suites/objects/objects.ts'
import { openFolder } from './folder.ts'

describeObjectStore({ describe, test, expect }, 'objects in files', openFolder)
