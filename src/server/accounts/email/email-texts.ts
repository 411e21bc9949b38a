import type { Locale } from '../../../contract/localized-messages/format-message.ts';
import type { MailText } from '../../mail/mail-queue.ts';

interface Values {
  readonly username: string;
  readonly link: string;
  /** Host of the service, so that people with accounts at several know which one writes. */
  readonly site: string;
}
type Texts = Readonly<Record<Locale, (values: Values) => MailText>>;

export const CONFIRMATION: Texts = {
  en: ({ username, link, site }) => ({
    subject: `Confirm your e-mail address for ${site}`,
    text: `Hello ${username},

open this link and confirm that this is your address:

${link}

It works for 24 hours. From then on you can sign in with the address and reset your password by e-mail.
The first confirmation of an account ends what was created in it before: sessions, API keys, webhooks and bindings.
If you did not give this address at ${site}, ignore this e-mail: nothing changes.
`,
  }),
  'zh-CN': ({ username, link, site }) => ({
    subject: `请确认您在 ${site} 的邮箱地址`,
    text: `${username}，您好：

请打开以下链接，确认这是您的邮箱地址：

${link}

链接 24 小时内有效。确认后即可使用该邮箱登录，并可通过邮件重置密码。
账号首次确认邮箱时，此前创建的会话、API 密钥、Webhook 和绑定均会失效。
如果您没有在 ${site} 填写此地址，请忽略本邮件，不会产生任何影响。
`,
  }),
};

export const PASSWORD_RESET: Texts = {
  en: ({ username, link, site }) => ({
    subject: `Reset your password for ${site}`,
    text: `Hello ${username},

a password reset was requested for your account at ${site}. Open this link to choose a new one:

${link}

It works once, for 30 minutes. If it was not you, ignore this e-mail: your password stays as it is.
`,
  }),
  'zh-CN': ({ username, link, site }) => ({
    subject: `重置您在 ${site} 的密码`,
    text: `${username}，您好：

有人请求重置您在 ${site} 的账号密码。请打开以下链接设置新密码：

${link}

链接 30 分钟内有效，且只能使用一次。如果不是您本人操作，请忽略本邮件，密码不会改变。
`,
  }),
};

export const ADDRESS_CHANGED: Texts = {
  en: ({ username, link, site }) => ({
    subject: `The e-mail address of your account at ${site} is being changed`,
    text: `Hello ${username},

a new e-mail address was given for your account at ${site}. Once it is confirmed, you no longer sign in with this one.
If this was not you, change your password at once:

${link}
`,
  }),
  'zh-CN': ({ username, link, site }) => ({
    subject: `您在 ${site} 的账号邮箱正在更改`,
    text: `${username}，您好：

您在 ${site} 的账号填写了新的邮箱地址。新地址确认后，将不能再使用本邮箱登录。
如果不是您本人操作，请立即更改密码：

${link}
`,
  }),
};
