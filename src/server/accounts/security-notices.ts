import { defined } from '../../contract/objects.ts';
import type { Notice, Notifier } from '../notifications/notifier.ts';
import type { Trx } from '../tables.ts';

/** Changes an intruder may have made, of which the owner is notified. */
const TEXTS = {
  password: {
    title: { en: 'Your password was changed', 'zh-CN': '您的密码已更改' },
    content: {
      en: 'All other sessions and devices were signed out, and your management access token has ended. If this was not you, ask the administrator to reset it.',
      'zh-CN': '其他会话和设备均已退出登录，管理访问令牌已失效。如果不是您本人操作，请联系管理员重置密码。',
    },
  },
  'two-factor-on': {
    title: { en: 'Two-step verification is on', 'zh-CN': '两步验证已开启' },
    content: {
      en: 'Signing in now asks for a code. Keep the backup codes where you can reach them without your phone.',
      'zh-CN': '今后登录需要输入验证码。请将备用码保存在没有手机也能找到的地方。',
    },
  },
  'two-factor-off': {
    title: { en: 'Two-step verification is off', 'zh-CN': '两步验证已关闭' },
    content: {
      en: 'Your password alone is enough to sign in again. If this was not you, change it now.',
      'zh-CN': '现在仅凭密码即可登录。如果不是您本人操作，请立即更改密码。',
    },
  },
  'passkey-added': {
    title: { en: 'A passkey was added to your account', 'zh-CN': '您的账号已添加通行密钥' },
    content: {
      en: 'It signs in without your password. If this was not you, remove it now and change your password.',
      'zh-CN': '使用它登录无需密码。如果不是您本人操作，请立即移除该通行密钥并更改密码。',
    },
  },
  'passkey-removed': {
    title: { en: 'A passkey was removed from your account', 'zh-CN': '您的账号已移除通行密钥' },
    content: {
      en: 'It no longer signs in. If this was not you, change your password.',
      'zh-CN': '该通行密钥已无法登录。如果不是您本人操作，请更改密码。',
    },
  },
  'passkey-counter': {
    title: { en: 'A passkey may have been copied', 'zh-CN': '通行密钥可能已被复制' },
    content: {
      en: 'The use counter of a security key did not increase at its last sign-in, as happens when a key is cloned. If you cannot explain it, remove the passkey.',
      'zh-CN': '安全密钥上次登录时使用计数没有增加，密钥被克隆时会出现这种情况。如果您不清楚原因，请移除该通行密钥。',
    },
  },
  'second-factors-reset': {
    title: { en: 'An administrator removed your second factors', 'zh-CN': '管理员已移除您的第二验证因素' },
    content: {
      en: 'Your passkeys and two-step verification are gone, and you were signed out everywhere. Set them up again. If you did not ask for it, tell the administrator.',
      'zh-CN': '您的通行密钥和两步验证均已移除，所有登录均已退出，请重新设置。如果不是您要求的，请告知管理员。',
    },
  },
  'role-changed': {
    title: { en: 'Your role was changed', 'zh-CN': '您的角色已更改' },
    content: {
      en: 'All sessions, devices and applications were signed out, and your management access token has ended. Sign in again. If you did not expect this, ask the administrator.',
      'zh-CN': '所有会话、设备和应用均已退出登录，管理访问令牌已失效，请重新登录。如果您对此并不知情，请询问管理员。',
    },
  },
  'first-confirmation': {
    title: { en: 'Your e-mail address was confirmed for the first time', 'zh-CN': '您的邮箱地址已首次确认' },
    content: {
      en: 'The account may have been created with your address by another person, so everything created until now has ended: sessions, devices, API keys, the management access token, webhooks, bindings, passkeys, linked identities and two-step verification. If you did not choose the password yourself, reset it now, then create what you need again.',
      'zh-CN':
        '此前创建账号的可能不是您本人，因此之前的一切均已失效：会话、设备、API 密钥、管理访问令牌、Webhook、绑定、通行密钥、已关联的身份以及两步验证。如果密码不是您自己设置的，请立即重置密码，然后重新创建所需内容。',
    },
  },
  'first-confirmation-kept': {
    title: { en: 'Your e-mail address was confirmed for the first time', 'zh-CN': '您的邮箱地址已首次确认' },
    content: {
      en: 'What was created before has ended: sessions, devices, API keys, the management access token, webhooks, bindings and two-step verification. Passkeys and linked identities were kept: check them under Security, and remove those that are not yours.',
      'zh-CN':
        '此前创建的会话、设备、API 密钥、管理访问令牌、Webhook、绑定以及两步验证均已失效。通行密钥和已关联的身份予以保留：请在“安全”页面核对，并移除不属于您的项目。',
    },
  },
  'reset-link': {
    title: { en: 'An administrator made a link to reset your password', 'zh-CN': '管理员为您生成了密码重置链接' },
    content: {
      en: 'It works once, for a day. If you did not ask for it, tell the administrator.',
      'zh-CN': '该链接一天内有效，且只能使用一次。如果不是您要求的，请告知管理员。',
    },
  },
  'key-rotated': {
    title: { en: 'An API key has a new secret', 'zh-CN': 'API 密钥已轮换' },
    content: {
      en: 'The old secret works until the time chosen with the rotation. If this was not you, revoke the key and change your password.',
      'zh-CN': '旧密钥在轮换时选定的时间前仍然有效。如果不是您本人操作，请撤销该密钥并更改密码。',
    },
  },
  'user-token': {
    title: { en: 'A management access token was created', 'zh-CN': '已生成新的管理访问令牌' },
    content: {
      en: 'The previous one no longer works.',
      'zh-CN': '之前的令牌已失效。',
    },
  },
} as const satisfies Record<string, Pick<Notice, 'title' | 'content'>>;

/** Notifies owners of changes to the credentials of their account. */
export class SecurityNotices {
  readonly #notifier: Notifier;

  constructor(notifier: Notifier) {
    this.#notifier = notifier;
  }

  /** Notifies in the transaction of the change; once per key, if there is one. */
  async notify(trx: Trx, userId: number, change: keyof typeof TEXTS, deduplicationKey?: string): Promise<void> {
    await this.#notifier.notify(trx, {
      userId,
      topic: 'security',
      type: 'system',
      ...TEXTS[change],
      targetUrl: change === 'key-rotated' ? '/account/tokens' : '/account/security',
      ...defined({ deduplicationKey }),
    });
  }
}
