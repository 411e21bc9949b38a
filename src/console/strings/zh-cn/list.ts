import type en from '../en/list.ts';
import type { Translated } from '../resources.ts';

export default {
  noMatch: '没有符合条件的内容',
  noMatchText: '没有同时满足所有筛选条件的内容。可以减少条件，或查看全部。',
  filters: '筛选',
  clear: '清除筛选',
  total_one: '共 {{count}} 条',
  total_other: '共 {{count}} 条',
  totalIsMinimum: '{{total}}+ 条',
  newest: '最新',
  older: '更早',
  export: '导出 CSV',
  user: '用户',
  channel: '渠道',
  apiKey: 'API 密钥',
  model: '模型',
  from: '从',
  to: '到',
} satisfies Translated<typeof en>;
