import 'i18next';
import type account from './en/account.ts';
import type admin from './en/admin.ts';
import type adminAnnouncements from './en/admin-announcements.ts';
import type adminBetaApplications from './en/admin-beta-applications.ts';
import type adminChannels from './en/admin-channels.ts';
import type adminModels from './en/admin-models.ts';
import type adminOrganizations from './en/admin-organizations.ts';
import type adminPlans from './en/admin-plans.ts';
import type adminCodes from './en/admin-redemption-codes.ts';
import type operations from './en/admin-service-status.ts';
import type adminSettings from './en/admin-settings.ts';
import type adminTickets from './en/admin-tickets.ts';
import type app from './en/app.ts';
import type audit from './en/audit.ts';
import type batches from './en/batches.ts';
import type collections from './en/collections.ts';
import type palette from './en/command-palette.ts';
import type connect from './en/connect-clients.ts';
import type costs from './en/costs.ts';
import type explore from './en/explore.ts';
import type files from './en/files.ts';
import type list from './en/list.ts';
import type logins from './en/login-history.ts';
import type mailbox from './en/mailbox.ts';
import type modelNotes from './en/model-notes.ts';
import type notifications from './en/notifications.ts';
import type organizations from './en/organizations.ts';
import type passkeys from './en/passkeys.ts';
import type plan from './en/plan.ts';
import type playground from './en/playground.ts';
import type reconciliation from './en/reconciliation.ts';
import type requests from './en/requests.ts';
import type shortcuts from './en/shortcuts.ts';
import type signIn from './en/sign-in.ts';
import type studio from './en/studio.ts';
import type support from './en/support.ts';
import type failures from './en/video-failures.ts';

/** One namespace per area of the console, named after its pages; `app` is shared by all. */
interface Resources {
  app: typeof app;
  'sign-in': typeof signIn;
  shortcuts: typeof shortcuts;
  studio: typeof studio;
  support: typeof support;
  account: typeof account;
  audit: typeof audit;
  'admin-service-status': typeof operations;
  'command-palette': typeof palette;
  organizations: typeof organizations;
  passkeys: typeof passkeys;
  plan: typeof plan;
  playground: typeof playground;
  reconciliation: typeof reconciliation;
  requests: typeof requests;
  'connect-clients': typeof connect;
  costs: typeof costs;
  'video-failures': typeof failures;
  batches: typeof batches;
  collections: typeof collections;
  explore: typeof explore;
  files: typeof files;
  list: typeof list;
  'login-history': typeof logins;
  mailbox: typeof mailbox;
  'model-notes': typeof modelNotes;
  notifications: typeof notifications;
  admin: typeof admin;
  'admin-announcements': typeof adminAnnouncements;
  'admin-beta-applications': typeof adminBetaApplications;
  'admin-channels': typeof adminChannels;
  'admin-redemption-codes': typeof adminCodes;
  'admin-models': typeof adminModels;
  'admin-organizations': typeof adminOrganizations;
  'admin-plans': typeof adminPlans;
  'admin-settings': typeof adminSettings;
  'admin-tickets': typeof adminTickets;
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
