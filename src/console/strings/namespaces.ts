import 'i18next';
import type account from './en/account.ts';
import type admin from './en/admin.ts';
import type adminChannels from './en/admin-channels.ts';
import type adminPlans from './en/admin-plans.ts';
import type adminSettings from './en/admin-settings.ts';
import type app from './en/app.ts';
import type audit from './en/audit.ts';
import type costs from './en/costs.ts';
import type keyboard from './en/keyboard.ts';
import type library from './en/library.ts';
import type list from './en/list.ts';
import type notifications from './en/notifications.ts';
import type organizations from './en/organizations.ts';
import type playground from './en/playground.ts';
import type requests from './en/requests.ts';
import type signIn from './en/sign-in.ts';
import type studio from './en/studio.ts';
import type support from './en/support.ts';
import type videos from './en/videos.ts';

/** One namespace per area of the console, named after its pages; `app` is shared by all. */
interface Resources {
  app: typeof app;
  'sign-in': typeof signIn;
  studio: typeof studio;
  support: typeof support;
  account: typeof account;
  audit: typeof audit;
  organizations: typeof organizations;
  playground: typeof playground;
  requests: typeof requests;
  costs: typeof costs;
  list: typeof list;
  notifications: typeof notifications;
  keyboard: typeof keyboard;
  library: typeof library;
  videos: typeof videos;
  admin: typeof admin;
  'admin-channels': typeof adminChannels;
  'admin-plans': typeof adminPlans;
  'admin-settings': typeof adminSettings;
}
export type Namespace = keyof Resources;

/** Type of the English texts with any string values; a translation with a missing or extra key does not compile. */
export type Translated<Texts> = {
  readonly [Key in keyof Texts]: Texts[Key] extends string ? string : Translated<Texts[Key]>;
};

declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'app';
    resources: Resources;
  }
}
