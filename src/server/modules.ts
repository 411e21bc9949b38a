import { DAY_MS } from '../contract/time-units.ts';
import { AccountAccess, AccountStore } from './accounts/account-store.ts';
import { AuditStore } from './accounts/audit-log.ts';
import { makeAccounts } from './accounts/module.ts';
import type { PasswordCost } from './accounts/passwords.ts';
import { TokenStore } from './accounts/tokens.ts';
import { makeArtifacts } from './artifacts/module.ts';
import { makeBudgets } from './budgets/budgets.ts';
import { makeChannels, makeRetirementNotices } from './channels/module.ts';
import type { ModelLifecycles } from './channels/retirements.ts';
import { makeDeviceAccess, makeDeviceAuth } from './device-auth/module.ts';
import type { DeviceCodeLimits } from './device-auth/rate-limits.ts';
import { makeEvents } from './event-log/event-log.ts';
import { FileService, toFileLimits } from './files/file-service.ts';
import type { Foundation } from './foundation.ts';
import { IdentityStore } from './identity-providers/identity-store.ts';
import { makeIdentityProviders } from './identity-providers/module.ts';
import { type MailSender, makeMail } from './mail/mail-queue.ts';
import { makeMailbox, makeSeenPasswordNotices } from './mailbox/module.ts';
import { makeNotifications } from './notifications/module.ts';
import { makeOrganizations } from './organizations/module.ts';
import { OrganizationStore } from './organizations/organization-store.ts';
import { TransferService, TransferStore } from './organizations/transfers.ts';
import { VERSION } from './package-root.ts';
import { makePlanAllowances, makePlans } from './plans/module.ts';
import { makeQuota } from './quota/module.ts';
import { makeRequests } from './request-log/module.ts';
import { importSandboxMail } from './sandbox-loader.ts';
import { makeServiceStatus } from './service-status/incidents.ts';
import type { Trx } from './tables.ts';
import { VendorRegistry } from './vendors/registry.ts';
import type { OnFaultPoint } from './video/task-completion.ts';
import { EndpointStore } from './webhooks/endpoint-store.ts';
import { makeWebhooks } from './webhooks/module.ts';

/** All modules that need no HTTP server. */
export type Modules = Awaited<ReturnType<typeof makeModules>>;

/** Replacements for real components, for tests. */
export interface ModuleOverrides {
  /** Cost of newly hashed passwords. */
  readonly passwordCost?: PasswordCost;
  /** Replaces the SMTP server. */
  readonly mailSender?: MailSender;
  /** Replaces the lifecycles of the vendors' models. */
  readonly lifecycles?: ModelLifecycles;
  /** Replaces some limits on device codes. */
  readonly deviceCodeLimits?: Partial<DeviceCodeLimits>;
  /** Name or path of the program to run instead of the `ffmpeg` in `PATH`. */
  readonly ffmpeg?: string;
  readonly onFaultPoint?: OnFaultPoint;
}

/**
 * Constructs every module that needs no HTTP server, in the order of their dependencies: notifications, the ledger,
 * device sign-ins and plans come before the accounts that use them, all others after.
 */
export async function makeModules(
  foundation: Foundation,
  { passwordCost, mailSender, lifecycles, deviceCodeLimits, ffmpeg, onFaultPoint }: ModuleOverrides,
) {
  const { config, settings, database, clock, log, rateLimits, outbound, metrics } = foundation;
  const accountStore = new AccountStore(database);
  const auditLog = new AuditStore(database, clock);
  const access = new AccountAccess(accountStore);
  const findTimeZone = (userId: number) => accountStore.findTimeZone(userId);
  const findTimeZoneIn = (trx: Trx, userId: number) => accountStore.findTimeZone(userId, trx);

  const memberships = new OrganizationStore(database);

  const events = makeEvents({ ...foundation, retentionMs: () => settings.current().retentionEventsDays * DAY_MS });
  const mail = makeMail({ ...foundation, sender: mailSender });
  const notifications = makeNotifications({
    ...foundation,
    events: events.eventLog,
    auditLog,
    access,
    mailer: mail.queue,
    recipientsOf: (trx, userId) => memberships.recipientsOf(trx, userId),
    findMailRecipient: (userId, db) => accountStore.findMailRecipient(userId, db),
  });
  const { notifier } = notifications;
  const allowances = makePlanAllowances({ database, clock, findTimeZoneIn });
  const requests = makeRequests(foundation);
  const amountUnit = () => ({ quotaPerCredit: config.quotaPerUnit, currency: settings.current().currency ?? '' });
  const quota = makeQuota({
    database,
    clock,
    allowances,
    notifier,
    lowQuota: () => settings.current().lowQuota,
    amountUnit,
    timeZone: () => settings.current().timeZone,
    ledgerRetentionDays: () => settings.current().retentionLedgerDays,
    events: events.eventLog,
    log,
    metrics,
    onClosed: requests.log.addClosed,
  });
  const { ledger } = quota;
  const plans = makePlans({
    database,
    clock,
    allowances,
    rateLimits,
    ledger,
    notifier,
    auditLog,
    access,
    findTimeZoneIn,
    findTimeZone,
  });
  const devicePasswordNotices = makeSeenPasswordNotices(database, notifier);
  const deviceAccess = makeDeviceAccess({
    database,
    clock,
    log,
    tokens: new TokenStore(database),
    onRevoked: (trx, devices) => devicePasswordNotices.notifyEnded(trx, devices),
  });
  const webhookEndpoints = new EndpointStore(database);
  const identities = new IdentityStore(database);
  const accounts = makeAccounts({
    ...foundation,
    limits: rateLimits,
    ledger,
    notifier,
    mailer: mail.queue,
    passwordCost,
    findPlan: (userId) => plans.subscriptions.currentPlan(userId),
    givePlan: (trx, userId, code) => plans.subscriptions.giveByCode(trx, userId, code, 'registration'),
    deviceTokens: deviceAccess,
    memberships,
    linkedLogins: [deviceAccess],
    standingAccess: [{ revokeAll: (trx, userId) => webhookEndpoints.deleteOfUser(trx, userId) }],
    identities: { revokeAll: (trx, userId) => identities.deleteOfUser(trx, userId) },
  });
  const deviceAuth = makeDeviceAuth({
    config,
    codesPerIp: () => settings.current().deviceCodesPerAddress,
    codeLimits: deviceCodeLimits,
    database,
    clock,
    limits: rateLimits,
    metrics,
    notifier,
    deviceAccess,
    memberships,
    accounts,
    ledger,
    outbound,
    acceptsMetadata: () => settings.current().oauthClientMetadata,
  });
  const organizations = makeOrganizations({
    ...{ database, clock, config, settings, accountStore, accounts, ledger, notifier, rateLimits },
    vault: foundation.vault,
    store: memberships,
    tokens: new TokenStore(database),
    revocation: deviceAccess.revocation,
    mailer: mail.queue,
    findPlan: (id) => plans.subscriptions.currentPlan(id),
  });
  const identityProviders = makeIdentityProviders({
    ...foundation,
    notifier,
    accountStore,
    accounts,
    organizations: organizations.organizations,
    claimDeviceCode: (trx, returnTo, userId) => deviceAuth.codes.claimForPage(trx, returnTo, userId),
  });
  const vendors = new VendorRegistry();
  const channels = makeChannels({
    ...foundation,
    notifier,
    events,
    sandbox: config.sandbox,
    lifecycles: lifecycles ?? {
      of: (vendor, model) => vendors.lifecycles(vendor, model),
      hostOf: (channel) => vendors.hostOf(channel),
    },
  });
  const mailbox = await makeMailbox({
    ...foundation,
    accounts: accounts.users,
    matchesAccountPassword: (password, stored) => accounts.passwords.verify(password, stored),
    auditLog,
    rateLimits,
    outbound,
    startSandboxMail: config.mailBackend === 'sandbox' ? await importSandboxMail() : undefined,
  });
  const artifacts = makeArtifacts({
    ...foundation,
    notifier,
    events: events.eventLog,
    findPlanStorage: (userId) => plans.subscriptions.storageOf(userId),
    ffmpeg,
  });
  const files = new FileService({
    ...{ database, artifacts, clock, masterKey: foundation.masterKey, baseUrl: config.baseUrl },
    limits: () => toFileLimits(settings.current()),
  });
  const webhooks = makeWebhooks({ ...foundation, version: VERSION, access, events, notifier, auditLog });
  return {
    mail,
    events,
    webhooks,
    artifacts,
    files,
    notifications,
    allowances,
    quota,
    requests,
    operations: makeServiceStatus({
      database,
      metrics,
      clock,
      log,
      instance: { name: config.instanceName, version: VERSION },
    }),
    ...makeBudgets({ database, clock, notifier, amountUnit }),
    plans,
    deviceAccess,
    accounts,
    deviceAuth,
    identityProviders,
    ...organizations,
    findAuthors: memberships.findAuthors,
    transfers: new TransferService({
      ...{ database, clock, artifacts, ledger, auditLog },
      store: new TransferStore(database),
      organizations: organizations.organizations,
      faultPoint: onFaultPoint ?? (() => {}),
    }),
    ...channels,
    retirementNotices: makeRetirementNotices({
      database,
      clock,
      notifier,
      channels: channels.channels,
      events: events.eventLog,
      usage: quota.usage,
    }),
    mailbox,
    vendors,
  };
}
