import type en from '../en/collections.ts';
import type { Translated } from '../namespaces.ts';

export default {
  title_one: '此视频所在的合集',
  title_other: '{{count}} 个视频所在的合集',
  collections: '合集',
  none: '还没有合集，先创建一个吧。',
  videos_one: '{{count}} 个视频',
  videos_other: '{{count}} 个视频',
  newName: '新合集',
  create: '创建',
  done: '完成',
  name: '名称',
  rename: '重命名',
  renameTitle: '重命名合集',
  delete: '删除合集',
  deleteTitle: '删除“{{name}}”？',
  deleteText: '仅删除合集，其中的视频会保留。',
} satisfies Translated<typeof en>;
