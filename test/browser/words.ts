import enAccount from '../../src/console/strings/en/account.ts';
import enMailbox from '../../src/console/strings/en/mailbox.ts';
import enMessages from '../../src/console/strings/en/messages.ts';
import enPackages from '../../src/console/strings/en/packages.ts';
import enShell from '../../src/console/strings/en/shell.ts';
import enStudio from '../../src/console/strings/en/studio.ts';
import enSupport from '../../src/console/strings/en/support.ts';
import zhAccount from '../../src/console/strings/zh-cn/account.ts';
import zhMailbox from '../../src/console/strings/zh-cn/mailbox.ts';
import zhMessages from '../../src/console/strings/zh-cn/messages.ts';
import zhPackages from '../../src/console/strings/zh-cn/packages.ts';
import zhShell from '../../src/console/strings/zh-cn/shell.ts';
import zhStudio from '../../src/console/strings/zh-cn/studio.ts';
import zhSupport from '../../src/console/strings/zh-cn/support.ts';

const en = {
  account: enAccount,
  mailbox: enMailbox,
  messages: enMessages,
  packages: enPackages,
  shell: enShell,
  studio: enStudio,
  support: enSupport,
};

/** What the console says, by language, so that one story is told in both. */
export const WORDS = {
  en,
  'zh-cn': {
    account: zhAccount,
    mailbox: zhMailbox,
    messages: zhMessages,
    packages: zhPackages,
    shell: zhShell,
    studio: zhStudio,
    support: zhSupport,
  },
} as const;
