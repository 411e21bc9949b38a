import type en from '../en/messages.ts';
import type { Translated } from '../resources.ts';

export default {
  title: '通知',
  lead: '您离开期间发生的事，以及正在发生的事。',
  readAll: '全部标为已读',
  settings: '通知设置',
  all: '查看全部通知',
  show: '显示',
  everything: '全部',
  unread: '未读',
  unreadCount: '未读（{{count}}）',
  emptyTitle: '暂无通知',
  emptyText: '视频生成失败、工单回复、新设备登录和公告都会即时显示在这里。',
  noneUnread: '全部已读',
  noneUnreadText: '新通知会自动出现在这里。',
  backToAll: '← 全部通知',
  topicsTitle: '通知我',
  topicsLead: '与账号安全有关的内容始终会通知。',
  always: '始终开启',
  topics: {
    'device.new': { name: '新设备', text: '有程序或设备获准登录您的账号。' },
    security: { name: '安全', text: '密码、两步验证或访问令牌发生变更。' },
    system: { name: '公告', text: '来自服务运营方的消息。' },
    'task.failed': { name: '视频失败', text: '视频未能生成及其原因。' },
    'task.finished': { name: '视频完成', text: '视频已可观看。' },
    'package.expiring': { name: '套餐', text: '套餐即将到期或已到期。' },
    'quota.low': { name: '余额不足', text: '余额即将用尽。' },
    ticket: { name: '工单', text: '工单的回复与状态变化。' },
    beta: { name: '内测申请', text: '内测申请的审核结果。' },
    'channel.resting': { name: '渠道', text: '供应商拒绝了某个渠道，需要有人处理。' },
  },
} satisfies Translated<typeof en>;
