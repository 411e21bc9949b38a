import type en from '../en/admin-announcements.ts';
import type { Translated } from '../namespaces.ts';

export default {
  lead: '通知所有账号，包括以后注册的账号。',
  make: '发布公告',
  title: '标题',
  text: '内容',
  inChinese: '同时提供中文',
  inChineseHint: '使用中文的用户将看到此版本。',
  titleChinese: '中文标题',
  textChinese: '中文内容',
  languages: '语言',
  target: '链接',
  targetHint: '控制台中的页面，例如 /packages。留空则不跳转。',
  told: '发布时间',
  edit: '编辑',
  editTitle: '编辑公告',
  editHint: '已读的用户不会再次收到通知。',
  sent: '已通知所有账号。',
  emptyTitle: '还没有公告',
  emptyText: '新模型、价格调整、停机维护：发布一次，所有人都会收到通知。',
  removeTitle: '删除“{{title}}”？',
  removeText: '无论是否已读，都将立即从所有人的通知中消失。',
  removeAction: '删除',
  removed: '公告已删除。',
} satisfies Translated<typeof en>;
