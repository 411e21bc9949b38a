import enAccount from '../../src/console/strings/en/account.ts';
import enAdmin from '../../src/console/strings/en/admin.ts';
import enDesk from '../../src/console/strings/en/desk.ts';
import enMailbox from '../../src/console/strings/en/mailbox.ts';
import enMessages from '../../src/console/strings/en/messages.ts';
import enPackages from '../../src/console/strings/en/packages.ts';
import enPlans from '../../src/console/strings/en/plans.ts';
import enShell from '../../src/console/strings/en/shell.ts';
import enStudio from '../../src/console/strings/en/studio.ts';
import enSupport from '../../src/console/strings/en/support.ts';
import enUpstreams from '../../src/console/strings/en/upstreams.ts';
import zhAccount from '../../src/console/strings/zh-cn/account.ts';
import zhAdmin from '../../src/console/strings/zh-cn/admin.ts';
import zhDesk from '../../src/console/strings/zh-cn/desk.ts';
import zhMailbox from '../../src/console/strings/zh-cn/mailbox.ts';
import zhMessages from '../../src/console/strings/zh-cn/messages.ts';
import zhPackages from '../../src/console/strings/zh-cn/packages.ts';
import zhPlans from '../../src/console/strings/zh-cn/plans.ts';
import zhShell from '../../src/console/strings/zh-cn/shell.ts';
import zhStudio from '../../src/console/strings/zh-cn/studio.ts';
import zhSupport from '../../src/console/strings/zh-cn/support.ts';
import zhUpstreams from '../../src/console/strings/zh-cn/upstreams.ts';

const en = {
  account: enAccount,
  admin: enAdmin,
  desk: enDesk,
  plans: enPlans,
  upstreams: enUpstreams,
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
    admin: zhAdmin,
    desk: zhDesk,
    plans: zhPlans,
    upstreams: zhUpstreams,
    mailbox: zhMailbox,
    messages: zhMessages,
    packages: zhPackages,
    shell: zhShell,
    studio: zhStudio,
    support: zhSupport,
  },
} as const;
