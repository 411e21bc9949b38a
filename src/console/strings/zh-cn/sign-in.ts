import type en from '../en/sign-in.ts';
import type { Translated } from '../resources.ts';

export default {
  signIn: {
    title: '登录',
    username: '用户名或邮箱',
    password: '密码',
    action: '登录',
    noAccount: '还没有账号？',
    register: '注册',
    secondTitle: '两步验证',
    secondText: '输入身份验证器应用中的 6 位验证码，或一个备用码。',
    code: '验证码',
    verify: '验证',
    forgot: '忘记密码？',
    startOver: '使用其他账号登录',
    sandbox: '沙盒模式：供应商均为模拟，生成视频不产生真实费用。',
  },
  register: {
    title: '注册账号',
    username: '用户名',
    usernameHint: '3 到 30 个字符：a–z、0–9、_ 和 -',
    email: '邮箱',
    password: '密码',
    passwordHint: '至少 8 个字符。几个互不相关的词既好记又难猜。',
    action: '创建账号',
    haveAccount: '已有账号？',
    signIn: '登录',
    closed: '此处已关闭注册，请联系管理员开通账号。',
  },
  forgot: {
    title: '重置密码',
    text: '请输入您的账号已确认的邮箱地址，系统会向其发送设置新密码的链接。',
    action: '发送链接',
    sent: '如果有账号已确认 {{email}}，重置链接正在发送。链接 30 分钟内有效。',
    back: '返回登录',
  },
  reset: {
    title: '设置新密码',
    password: '新密码',
    action: '设置密码',
    done: '密码已更改，所有会话和设备均已退出登录。',
    again: '重新发送链接',
  },
  confirm: {
    title: '确认邮箱',
    text: '确认后即可使用该邮箱登录，并可通过邮件重置密码。',
    action: '确认此邮箱',
    done: '邮箱已确认。',
    open: '打开个人资料',
  },
} satisfies Translated<typeof en>;
