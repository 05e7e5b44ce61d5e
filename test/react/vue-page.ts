/** A page of Vue with TanStack's own adapter and our query options. It is bundled and runs in Chromium. */
import { useQuery, VueQueryPlugin } from '@tanstack/vue-query'
import { createClient } from 'callplane/client'
import { queryOptions } from 'callplane/query'
import { createApp, defineComponent, h } from 'vue'
import type * as operations from './operations.ts'
import { mountPoint, origin } from './page.ts'

const api = createClient<typeof operations>({ url: origin })

const Item = defineComponent(() => {
  const { data } = useQuery(queryOptions(api.orders.getItem, { id: '7' }))
  return () => h('p', { id: 'item' }, data.value?.name ?? 'wait')
})

createApp(Item).use(VueQueryPlugin).mount(mountPoint())
