import type en from '../en/command-palette.ts';
import type { Translated } from '../namespaces.ts';

export default {
  title: '快速前往',
  placeholder: '搜索页面、视频、模型、密钥……',
  placeholderAdmin: '搜索页面、用户、视频、模型、密钥……',
  none: '没有与“{{search}}”匹配的内容。',
  hint: '↑ ↓ 选择，Enter 打开，Esc 关闭',
  groups: {
    actions: '操作',
    pages: '页面',
    videos: '我的视频',
    models: '模型',
    keys: 'API 密钥',
    users: '用户',
    channels: '渠道',
    tasks: '全部视频',
  },
  actions: {
    video: '生成视频',
    key: '创建 API 密钥',
    ticket: '联系客服',
    redeem: '兑换套餐或积分',
    password: '修改密码',
    twoStep: '设置两步验证',
    device: '确认设备验证码',
    channel: '添加渠道',
    model: '添加模型',
    user: '创建用户',
    announce: '发布公告',
  },
} satisfies Translated<typeof en>;
