/** The groups of the tree of operations. */
import { expect, test } from 'vitest'
import { groupsOf } from '../../console/src/explore/tree/operation-tree.ts'

test('groups are in the order of their letters, large or small, and the server’s own come last', () => {
  const ops = ['v1:callplane.calls.list', 'v1:Waves.Watch', 'v1:orders.ship', 'v1:Orders.Export', 'v1:callplane.whoami']

  const groups = groupsOf(ops.map((op) => ({ op })))

  expect(groups.map(({ name }) => name)).toEqual(['Orders', 'orders', 'Waves', 'callplane', 'callplane.calls'])
})
