import type en from '../en/login-history.ts';
import type { Translated } from '../namespaces.ts';

export default {
  title: '登录记录',
  text: '您账号的登录及失败的登录尝试。如有不认识的成功登录，请立即更改密码。',
  lead: '您可管理的账号的登录及失败的登录尝试。',
  attempts: '登录尝试',
  tab: '登录',
  changes: '更改',
  views: '记录类型',
  time: '时间',
  outcome: '结果',
  outcomes: {
    success: '登录成功',
    wrong_password: '密码错误',
    wrong_code: '验证码错误',
    wrong_passkey: '通行密钥错误',
    disabled: '账号已停用',
  },
  twoStep: '两步验证',
  newSource: '新设备',
  browser: '浏览器',
  address: 'IP 地址',
  user: '用户',
  onlyFailed: '仅显示失败的尝试',
  none: '暂无登录记录。',
} satisfies Translated<typeof en>;
