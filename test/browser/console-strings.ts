import { it } from 'node:test';
import enAccount from '../../src/console/strings/en/account.ts';
import enAdmin from '../../src/console/strings/en/admin.ts';
import enAdminChannels from '../../src/console/strings/en/admin-channels.ts';
import enAdminPlans from '../../src/console/strings/en/admin-plans.ts';
import enAdminSettings from '../../src/console/strings/en/admin-settings.ts';
import enApp from '../../src/console/strings/en/app.ts';
import enAudit from '../../src/console/strings/en/audit.ts';
import enCosts from '../../src/console/strings/en/costs.ts';
import enKeyboard from '../../src/console/strings/en/keyboard.ts';
import enLibrary from '../../src/console/strings/en/library.ts';
import enList from '../../src/console/strings/en/list.ts';
import enNotifications from '../../src/console/strings/en/notifications.ts';
import enOrganizations from '../../src/console/strings/en/organizations.ts';
import enPlayground from '../../src/console/strings/en/playground.ts';
import enRequests from '../../src/console/strings/en/requests.ts';
import enSignIn from '../../src/console/strings/en/sign-in.ts';
import enStudio from '../../src/console/strings/en/studio.ts';
import enSupport from '../../src/console/strings/en/support.ts';
import enVideos from '../../src/console/strings/en/videos.ts';
import zhAccount from '../../src/console/strings/zh-cn/account.ts';
import zhAdmin from '../../src/console/strings/zh-cn/admin.ts';
import zhAdminChannels from '../../src/console/strings/zh-cn/admin-channels.ts';
import zhAdminPlans from '../../src/console/strings/zh-cn/admin-plans.ts';
import zhAdminSettings from '../../src/console/strings/zh-cn/admin-settings.ts';
import zhApp from '../../src/console/strings/zh-cn/app.ts';
import zhAudit from '../../src/console/strings/zh-cn/audit.ts';
import zhCosts from '../../src/console/strings/zh-cn/costs.ts';
import zhKeyboard from '../../src/console/strings/zh-cn/keyboard.ts';
import zhLibrary from '../../src/console/strings/zh-cn/library.ts';
import zhList from '../../src/console/strings/zh-cn/list.ts';
import zhNotifications from '../../src/console/strings/zh-cn/notifications.ts';
import zhOrganizations from '../../src/console/strings/zh-cn/organizations.ts';
import zhPlayground from '../../src/console/strings/zh-cn/playground.ts';
import zhRequests from '../../src/console/strings/zh-cn/requests.ts';
import zhSignIn from '../../src/console/strings/zh-cn/sign-in.ts';
import zhStudio from '../../src/console/strings/zh-cn/studio.ts';
import zhSupport from '../../src/console/strings/zh-cn/support.ts';
import zhVideos from '../../src/console/strings/zh-cn/videos.ts';
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
    adminAnnouncements: enNotifications.announcements,
    adminBetaApplications: enSupport.beta,
    adminChannels: enAdminChannels,
    adminCodes: enAdminPlans.codes,
    adminModels: enAdminChannels,
    adminOrganizations: enOrganizations.admin,
    adminPlans: enAdminPlans,
    adminSettings: enAdminSettings,
    adminTickets: enSupport.admin,
    app: enApp,
    audit: enAudit,
    collections: enVideos.collections,
    connect: enAccount.connect,
    costs: enCosts,
    failures: enVideos.failures,
    batches: enRequests.batches,
    files: enVideos.files,
    list: enList,
    logins: enAccount.loginHistory,
    mailbox: enAccount.mailbox,
    notifications: enNotifications,
    operations: enAdmin.serviceStatus,
    palette: enKeyboard.palette,
    passkeys: enSignIn.passkeys,
    plan: enCosts.plan,
    playground: enPlayground,
    reconciliation: enCosts.reconciliation,
    requests: enRequests,
    shortcuts: enKeyboard.shortcuts,
    signIn: enSignIn,
    // With the pages of videos, which share components.
    studio: { ...enLibrary, ...enStudio, share: { ...enLibrary.share, ...enStudio.share } },
    support: enSupport,
  },
  'zh-cn': {
    account: zhAccount,
    admin: zhAdmin,
    adminAnnouncements: zhNotifications.announcements,
    adminBetaApplications: zhSupport.beta,
    adminChannels: zhAdminChannels,
    adminCodes: zhAdminPlans.codes,
    adminModels: zhAdminChannels,
    adminOrganizations: zhOrganizations.admin,
    adminPlans: zhAdminPlans,
    adminSettings: zhAdminSettings,
    adminTickets: zhSupport.admin,
    app: zhApp,
    audit: zhAudit,
    collections: zhVideos.collections,
    connect: zhAccount.connect,
    costs: zhCosts,
    failures: zhVideos.failures,
    batches: zhRequests.batches,
    files: zhVideos.files,
    list: zhList,
    logins: zhAccount.loginHistory,
    mailbox: zhAccount.mailbox,
    notifications: zhNotifications,
    operations: zhAdmin.serviceStatus,
    palette: zhKeyboard.palette,
    passkeys: zhSignIn.passkeys,
    plan: zhCosts.plan,
    playground: zhPlayground,
    reconciliation: zhCosts.reconciliation,
    requests: zhRequests,
    shortcuts: zhKeyboard.shortcuts,
    signIn: zhSignIn,
    // With the pages of videos, which share components.
    studio: { ...zhLibrary, ...zhStudio, share: { ...zhLibrary.share, ...zhStudio.share } },
    support: zhSupport,
  },
} as const;
