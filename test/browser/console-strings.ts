import { it } from 'node:test';
import enAccount from '../../src/console/strings/en/account.ts';
import enAdmin from '../../src/console/strings/en/admin.ts';
import enAdminAnnouncements from '../../src/console/strings/en/admin-announcements.ts';
import enAdminBetaApplications from '../../src/console/strings/en/admin-beta-applications.ts';
import enAdminChannels from '../../src/console/strings/en/admin-channels.ts';
import enAdminModels from '../../src/console/strings/en/admin-models.ts';
import enAdminOrganizations from '../../src/console/strings/en/admin-organizations.ts';
import enAdminPlans from '../../src/console/strings/en/admin-plans.ts';
import enAdminCodes from '../../src/console/strings/en/admin-redemption-codes.ts';
import enOperations from '../../src/console/strings/en/admin-service-status.ts';
import enAdminSettings from '../../src/console/strings/en/admin-settings.ts';
import enAdminTickets from '../../src/console/strings/en/admin-tickets.ts';
import enApp from '../../src/console/strings/en/app.ts';
import enAudit from '../../src/console/strings/en/audit.ts';
import enBatches from '../../src/console/strings/en/batches.ts';
import enCollections from '../../src/console/strings/en/collections.ts';
import enPalette from '../../src/console/strings/en/command-palette.ts';
import enConnect from '../../src/console/strings/en/connect-clients.ts';
import enCosts from '../../src/console/strings/en/costs.ts';
import enFiles from '../../src/console/strings/en/files.ts';
import enList from '../../src/console/strings/en/list.ts';
import enLogins from '../../src/console/strings/en/login-history.ts';
import enMailbox from '../../src/console/strings/en/mailbox.ts';
import enNotifications from '../../src/console/strings/en/notifications.ts';
import enPasskeys from '../../src/console/strings/en/passkeys.ts';
import enPlan from '../../src/console/strings/en/plan.ts';
import enPlayground from '../../src/console/strings/en/playground.ts';
import enReconciliation from '../../src/console/strings/en/reconciliation.ts';
import enRequests from '../../src/console/strings/en/requests.ts';
import enShortcuts from '../../src/console/strings/en/shortcuts.ts';
import enSignIn from '../../src/console/strings/en/sign-in.ts';
import enStudio from '../../src/console/strings/en/studio.ts';
import enSupport from '../../src/console/strings/en/support.ts';
import enFailures from '../../src/console/strings/en/video-failures.ts';
import zhAccount from '../../src/console/strings/zh-cn/account.ts';
import zhAdmin from '../../src/console/strings/zh-cn/admin.ts';
import zhAdminAnnouncements from '../../src/console/strings/zh-cn/admin-announcements.ts';
import zhAdminBetaApplications from '../../src/console/strings/zh-cn/admin-beta-applications.ts';
import zhAdminChannels from '../../src/console/strings/zh-cn/admin-channels.ts';
import zhAdminModels from '../../src/console/strings/zh-cn/admin-models.ts';
import zhAdminOrganizations from '../../src/console/strings/zh-cn/admin-organizations.ts';
import zhAdminPlans from '../../src/console/strings/zh-cn/admin-plans.ts';
import zhAdminCodes from '../../src/console/strings/zh-cn/admin-redemption-codes.ts';
import zhOperations from '../../src/console/strings/zh-cn/admin-service-status.ts';
import zhAdminSettings from '../../src/console/strings/zh-cn/admin-settings.ts';
import zhAdminTickets from '../../src/console/strings/zh-cn/admin-tickets.ts';
import zhApp from '../../src/console/strings/zh-cn/app.ts';
import zhAudit from '../../src/console/strings/zh-cn/audit.ts';
import zhBatches from '../../src/console/strings/zh-cn/batches.ts';
import zhCollections from '../../src/console/strings/zh-cn/collections.ts';
import zhPalette from '../../src/console/strings/zh-cn/command-palette.ts';
import zhConnect from '../../src/console/strings/zh-cn/connect-clients.ts';
import zhCosts from '../../src/console/strings/zh-cn/costs.ts';
import zhFiles from '../../src/console/strings/zh-cn/files.ts';
import zhList from '../../src/console/strings/zh-cn/list.ts';
import zhLogins from '../../src/console/strings/zh-cn/login-history.ts';
import zhMailbox from '../../src/console/strings/zh-cn/mailbox.ts';
import zhNotifications from '../../src/console/strings/zh-cn/notifications.ts';
import zhPasskeys from '../../src/console/strings/zh-cn/passkeys.ts';
import zhPlan from '../../src/console/strings/zh-cn/plan.ts';
import zhPlayground from '../../src/console/strings/zh-cn/playground.ts';
import zhReconciliation from '../../src/console/strings/zh-cn/reconciliation.ts';
import zhRequests from '../../src/console/strings/zh-cn/requests.ts';
import zhShortcuts from '../../src/console/strings/zh-cn/shortcuts.ts';
import zhSignIn from '../../src/console/strings/zh-cn/sign-in.ts';
import zhStudio from '../../src/console/strings/zh-cn/studio.ts';
import zhSupport from '../../src/console/strings/zh-cn/support.ts';
import zhFailures from '../../src/console/strings/zh-cn/video-failures.ts';
import { amountUnitName } from '../../src/contract/amounts.ts';

/** An amount as shown by a site without a currency: `4.00 credits`. */
export const inCredits = (amount: string, language: 'en' | 'zh-cn'): string =>
  `${amount} ${amountUnitName({ quotaPerCredit: 1, currency: '' }, language)}`;

/** Languages of the console. */
export const LANGUAGES = ['en', 'zh-cn'] as const;
type Language = (typeof LANGUAGES)[number];

/** Set by `npm run hammer`: every story in both languages. */
const ALL_LANGUAGES = process.env.ALL_LANGUAGES === '1';

/**
 * Returns a function that declares a story in one language: the first story in `first`, the next in the other one, and
 * so on. The steps of a story are the same in both, and the accessibility tests open every page in both.
 */
export function inTurn(first: Language = 'en') {
  const titles: string[] = [];
  return (language: Language, title: string, story: () => Promise<void>): void => {
    if (!titles.includes(title)) titles.push(title);
    const isOwn = (language === first) === (titles.indexOf(title) % 2 === 0);
    if (isOwn || ALL_LANGUAGES) void it(`${title} (${language})`, story);
  };
}

/** Texts of the console by language and namespace. */
export const STRINGS = {
  en: {
    account: enAccount,
    admin: enAdmin,
    adminAnnouncements: enAdminAnnouncements,
    adminBetaApplications: enAdminBetaApplications,
    adminChannels: enAdminChannels,
    adminCodes: enAdminCodes,
    adminModels: enAdminModels,
    adminOrganizations: enAdminOrganizations,
    adminPlans: enAdminPlans,
    adminSettings: enAdminSettings,
    adminTickets: enAdminTickets,
    app: enApp,
    audit: enAudit,
    collections: enCollections,
    connect: enConnect,
    costs: enCosts,
    failures: enFailures,
    batches: enBatches,
    files: enFiles,
    list: enList,
    logins: enLogins,
    mailbox: enMailbox,
    notifications: enNotifications,
    operations: enOperations,
    palette: enPalette,
    passkeys: enPasskeys,
    plan: enPlan,
    playground: enPlayground,
    reconciliation: enReconciliation,
    requests: enRequests,
    shortcuts: enShortcuts,
    signIn: enSignIn,
    studio: enStudio,
    support: enSupport,
  },
  'zh-cn': {
    account: zhAccount,
    admin: zhAdmin,
    adminAnnouncements: zhAdminAnnouncements,
    adminBetaApplications: zhAdminBetaApplications,
    adminChannels: zhAdminChannels,
    adminCodes: zhAdminCodes,
    adminModels: zhAdminModels,
    adminOrganizations: zhAdminOrganizations,
    adminPlans: zhAdminPlans,
    adminSettings: zhAdminSettings,
    adminTickets: zhAdminTickets,
    app: zhApp,
    audit: zhAudit,
    collections: zhCollections,
    connect: zhConnect,
    costs: zhCosts,
    failures: zhFailures,
    batches: zhBatches,
    files: zhFiles,
    list: zhList,
    logins: zhLogins,
    mailbox: zhMailbox,
    notifications: zhNotifications,
    operations: zhOperations,
    palette: zhPalette,
    passkeys: zhPasskeys,
    plan: zhPlan,
    playground: zhPlayground,
    reconciliation: zhReconciliation,
    requests: zhRequests,
    shortcuts: zhShortcuts,
    signIn: zhSignIn,
    studio: zhStudio,
    support: zhSupport,
  },
} as const;
