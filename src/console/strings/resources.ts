import 'i18next';
import type account from './en/account.ts';
import type admin from './en/admin.ts';
import type desk from './en/desk.ts';
import type mailbox from './en/mailbox.ts';
import type messages from './en/messages.ts';
import type packages from './en/packages.ts';
import type plans from './en/plans.ts';
import type shell from './en/shell.ts';
import type studio from './en/studio.ts';
import type support from './en/support.ts';
import type upstreams from './en/upstreams.ts';

interface Resources {
  shell: typeof shell;
  studio: typeof studio;
  support: typeof support;
  account: typeof account;
  packages: typeof packages;
  mailbox: typeof mailbox;
  messages: typeof messages;
  admin: typeof admin;
  desk: typeof desk;
  plans: typeof plans;
  upstreams: typeof upstreams;
}
export type Namespace = keyof Resources;

/** The same keys as the English texts, to be said in another language. */
export type Translated<Texts> = {
  readonly [Key in keyof Texts]: Texts[Key] extends string ? string : Translated<Texts[Key]>;
};

declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'shell';
    resources: Resources;
  }
}
