import {
  ACCESS_TOKEN_SECONDS,
  type DeviceStatus,
  NAME_LENGTH_MAX,
  POLL_INTERVAL_SECONDS,
  REFRESH_TOKEN_SECONDS,
  USER_CODE_ALPHABET,
} from '../../contract/device-auth.ts';
import { authorizePage } from '../../contract/device-pages.ts';
import type { ErrorCode } from '../../contract/error-codes.ts';
import { type Audience, GRANT_ACCESS_SECONDS, type OauthScope } from '../../contract/oauth.ts';
import { defined } from '../../contract/objects.ts';
import { DAY_MS, HOUR_MS } from '../../contract/time-units.ts';
import type { AccountAccess } from '../accounts/account-store.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import type { LoginOutcome, LoginService } from '../accounts/login-service.ts';
import type { Memberships } from '../accounts/memberships.ts';
import type { SecondFactors, SecondStepProof } from '../accounts/second-factors.ts';
import type { CredentialRecheck } from '../accounts/sessions.ts';
import type { Notice, Notifier } from '../notifications/notifier.ts';
import { AppError } from '../platform/app-error.ts';
import { toIpLimitKey } from '../platform/client-ip.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { AccountCaller, LoginClient, RequestOrigin } from '../platform/http/route-registry.ts';
import { assertWithinLimit } from '../platform/limits/rate-limits.ts';
import { normalizeTypedCode, truncateCodePoints } from '../platform/text.ts';
import { hashToken, randomText } from '../platform/tokens.ts';
import type { Tables, Trx } from '../tables.ts';
import type { DeviceRevocation } from './authorization-store.ts';
import type { ClientService } from './clients.ts';
import { type DeviceCodeRow, type DeviceCodeStore, ENDED_CODE_RETENTION_MS } from './code-store.ts';
import type { DeviceRateLimits } from './rate-limits.ts';

const DEVICE_CODE_LENGTH = 32;
export const USER_AGENT_LENGTH = 200;
/** A collision with a valid code has a chance of one in millions; five in a row indicate a bug. */
const MAX_CODE_ATTEMPTS = 5;

/** What a grant is limited to; a device sign-in has no such limits. */
export interface GrantTerms {
  readonly scopes: readonly OauthScope[];
  readonly audience: Audience;
}

interface CodeRequest {
  readonly clientId: string;
  readonly clientName: string;
  readonly deviceId: string;
  readonly userAgent: string;
  /** IP of the device. */
  readonly address: string;
  /** Makes the sign-in a grant; without terms only a confidential client may ask. */
  readonly terms?: GrantTerms;
}

/** `userCode` is in the displayed form. */
interface IssuedCode {
  readonly deviceCode: string;
  readonly userCode: string;
  readonly expiresInSeconds: number;
  readonly intervalSeconds: number;
}

interface DeviceCodeServiceDependencies {
  readonly database: Database<Tables>;
  readonly store: DeviceCodeStore;
  readonly clock: Clock;
  readonly clients: ClientService;
  readonly rateLimits: DeviceRateLimits;
  readonly approvalCheck: ApprovalSecondStepCheck;
  readonly access: AccountAccess;
  readonly credentials: CredentialRecheck;
  readonly memberships: Pick<Memberships, 'find' | 'lock'>;
  readonly auditLog: AuditLog;
  readonly notifier: Notifier;
  readonly revocation: DeviceRevocation;
  /** Lifetime of a pending code. */
  readonly ttlSeconds: number;
  /** Maximum number of pending codes per IP (IPv6: per /64). */
  readonly maxPendingPerNetwork: () => number;
}

/** The user's side of device authorization: codes and the decisions about them. */
export class DeviceCodeService {
  readonly #dependencies: DeviceCodeServiceDependencies;

  constructor(dependencies: DeviceCodeServiceDependencies) {
    this.#dependencies = dependencies;
  }

  /** @throws client_unknown, rate_limit_exceeded */
  async issue(request: CodeRequest): Promise<IssuedCode> {
    const { clients, rateLimits, ttlSeconds } = this.#dependencies;
    const client = await clients.find(request.clientId);
    if (client === undefined || (client.type === 'public' && request.terms === undefined))
      throw new AppError('client_unknown');
    await rateLimits.consumeCodeRequest(request.address, request.clientId);
    const deviceCode = randomText(DEVICE_CODE_LENGTH);
    for (let attempt = 0; attempt < MAX_CODE_ATTEMPTS; attempt++) {
      const userCode = newUserCode();
      if (await this.#insert(request, deviceCode, userCode))
        return {
          deviceCode,
          userCode: formatUserCode(userCode),
          expiresInSeconds: ttlSeconds,
          intervalSeconds: POLL_INTERVAL_SECONDS,
        };
    }
    throw new AppError('unavailable', { log: { why: 'no free user_code was found' } });
  }

  /**
   * The state of a typed code, and its record if there is one. Unknown codes count against the limit. @throws
   * rate_limit_exceeded
   */
  async lookUp(
    typed: string,
    clientIp: string,
  ): Promise<{ readonly status: DeviceStatus; readonly code: DeviceCodeRow | undefined }> {
    const { store, clock, rateLimits } = this.#dependencies;
    const userCode = parseUserCode(typed);
    const now = clock.now();
    const code = userCode === undefined ? undefined : await store.findByUserCode(userCode, now);
    await (code === undefined ? rateLimits.recordUnknownCode(clientIp) : rateLimits.assertMayLookUp(clientIp));
    return { status: toDeviceCodeStatus(code, now), code };
  }

  /**
   * Finds a code that can still be decided. @throws user_code_invalid, user_code_expired, user_code_processed,
   * rate_limit_exceeded
   */
  async findPending(typed: string, clientIp: string): Promise<DeviceCodeRow> {
    const { status, code } = await this.lookUp(typed, clientIp);
    if (status !== 'pending') throw new AppError(ERROR_BY_STATUS[status]);
    if (code === undefined) throw new AppError('user_code_invalid');
    return code;
  }

  /** The error for a poll of a pending code; an early one widens the client's interval (RFC 8628 section 3.5). */
  async pacePoll({ id }: DeviceCodeRow, now: number): Promise<AppError> {
    const { store } = this.#dependencies;
    if (await store.recordPoll(id, now)) return new AppError('authorization_pending');
    await store.widenPollInterval(id, now);
    return new AppError('slow_down');
  }

  /**
   * Binds the code of a grant to the first account that opens it, as nothing but the code connects the browser with a
   * client without a secret; returns false if another account was first.
   */
  async bind({ user_code: userCode, scopes, claimed_by: owner }: DeviceCodeRow, userId: number): Promise<boolean> {
    if (owner !== null || scopes === null) return owner === null || owner === userId;
    const { database, store, clock } = this.#dependencies;
    return database.transaction((trx) => store.claim(trx, userCode, userId, clock.now()));
  }

  /** Reserves a pending code, so that no other account may decide it. @throws user_code_expired, user_code_processed */
  async claim(trx: Trx, userCode: string, userId: number): Promise<void> {
    const { store, clock } = this.#dependencies;
    if (!(await store.claim(trx, userCode, userId, clock.now()))) throw await this.#toRefusal(trx, userCode);
  }

  /** Ends a reservation of this account, which leaves the page to another one. */
  async release(typed: string, userId: number): Promise<void> {
    const userCode = parseUserCode(typed);
    if (userCode !== undefined) await this.#dependencies.store.release(userCode, userId);
  }

  /** Like `claim`, for a login that returns to the page of a code; that page reports a code that has ended. */
  async claimForPage(trx: Trx, path: string, userId: number): Promise<void> {
    const { store, clock } = this.#dependencies;
    const { pathname, searchParams } = new URL(path, 'http://localhost');
    const userCode = pathname === authorizePage.path ? parseUserCode(searchParams.get('code') ?? '') : undefined;
    if (userCode !== undefined) await store.claim(trx, userCode, userId, clock.now());
  }

  /**
   * Lets the device sign in.
   *
   * @param proof second step, required if the login is too old
   * @throws as `findPending`; unauthorized, second_factor_required, second_step_required, wrong_code, wrong_passkey
   */
  async approve(typed: string, approver: Approver, origin: RequestOrigin, proof: SecondStepProof): Promise<void> {
    const code = await this.findPending(typed, origin.address);
    await this.#dependencies.approvalCheck.assertSecondStep(code, approver, origin.address, proof);
    await this.#decide(code, approver.caller.userId, origin, approver);
  }

  /** Denies the sign-in. @throws as `findPending`; unauthorized */
  async deny(typed: string, userId: number, origin: RequestOrigin): Promise<void> {
    await this.#decide(await this.findPending(typed, origin.address), userId, origin);
  }

  /**
   * Blocks the IP behind a code this account denied from requesting codes for a while. The reporter's own network is
   * never blocked, because one user could then lock out all others in it. @throws user_code_invalid,
   * rate_limit_exceeded
   */
  async report(typed: string, userId: number, origin: RequestOrigin): Promise<void> {
    const { database, rateLimits, auditLog } = this.#dependencies;
    const { status, code } = await this.lookUp(typed, origin.address);
    if (status !== 'denied' || code?.user_id !== userId) throw new AppError('user_code_invalid');
    const isOwnNetwork = toIpLimitKey(code.address) === toIpLimitKey(origin.address);
    if (isOwnNetwork || !(await rateLimits.blockCodeRequests(code.address))) return;
    await database.transaction((trx) =>
      auditLog.record(trx, {
        actorId: userId,
        action: 'device.report',
        target: `device:${code.id}`,
        after: toAuditDetails(code),
        ...origin,
      }),
    );
  }

  /** Returns false if one of the two codes already exists. @throws rate_limit_exceeded */
  async #insert(request: CodeRequest, deviceCode: string, userCode: string): Promise<boolean> {
    const { database, store, clock, ttlSeconds, maxPendingPerNetwork } = this.#dependencies;
    const now = clock.now();
    const expiresAt = now + ttlSeconds * 1000;
    const row = {
      device_code_hash: hashToken(deviceCode),
      user_code: userCode,
      client_id: request.clientId,
      client_name: toSingleLine(request.clientName, NAME_LENGTH_MAX),
      device_id: truncateCodePoints(request.deviceId, NAME_LENGTH_MAX),
      address: request.address,
      network: toIpLimitKey(request.address),
      user_agent: toSingleLine(request.userAgent, USER_AGENT_LENGTH),
      created_at: now,
      expires_at: expiresAt,
      interval_seconds: POLL_INTERVAL_SECONDS,
      sweep_at: expiresAt + ENDED_CODE_RETENTION_MS,
      scopes: request.terms?.scopes.join(' ') ?? null,
      audience: request.terms?.audience ?? null,
    };
    return database.transaction(async (trx) => {
      if (row.device_id !== '') await store.deletePendingOfDevice(trx, row.device_id, now);
      // Undecided codes must not fill the table.
      assertWithinLimit(await store.reserve(trx, row, maxPendingPerNetwork()));
      return store.insert(row, trx);
    });
  }

  /** @param approver undefined: the code is denied */
  async #decide(pending: DeviceCodeRow, userId: number, origin: RequestOrigin, approver?: Approver): Promise<void> {
    const { database, store, clock, access, credentials, memberships, auditLog } = this.#dependencies;
    await database.transaction(async (trx) => {
      // Locked until the commit: a concurrent ban either precedes this decision or sees and revokes its result.
      if ((await access.lockEnabled(trx, userId)) === undefined) throw new AppError('unauthorized');
      if (approver !== undefined) await credentials.assertLive(trx, approver.caller);
      const organizationId = await lockOrganization(trx, memberships, approver?.organization, userId);
      const now = clock.now();
      const isApproved = approver !== undefined;
      const code = await store.decide(trx, pending.user_code, {
        status: isApproved ? 'approved' : 'denied',
        user_id: userId,
        organization_id: organizationId,
        decided_at: now,
        access_expires_at: isApproved ? toAccessEnd(now, pending) : null,
        refresh_expires_at: isApproved ? toRefreshEnd(now, pending) : null,
        sweep_at: now + ENDED_CODE_RETENTION_MS,
      });
      if (code === undefined) throw await this.#toRefusal(trx, pending.user_code);
      if (isApproved) await this.#revokePreviousSignIn(trx, code, userId);
      await auditLog.record(trx, {
        actorId: userId,
        ownerId: organizationId ?? userId,
        action: isApproved ? 'device.approve' : 'device.deny',
        target: `device:${code.id}`,
        after: defined({ ...toAuditDetails(code), organization: organizationId ?? undefined }),
        ...origin,
      });
    });
  }

  /** Ends the previous sign-in of the same device, whichever client it used, and notifies the owner. */
  async #revokePreviousSignIn(trx: Trx, code: DeviceCodeRow, userId: number): Promise<void> {
    const { store, clients, notifier, revocation } = this.#dependencies;
    const { client_id, device_id, id } = code;
    if (device_id !== '') {
      // A device may be signed in once for each context.
      const { organization_id } = code;
      await store.deleteApprovedOfDevice(trx, { userId, deviceId: device_id, organizationId: organization_id }, id);
      await revocation.revoke(trx, { user_id: userId, device_id, organization_id });
    }
    const registeredName = await clients.findName(trx, client_id);
    await notifier.notify(trx, newDeviceNotice({ ...code, user_id: userId }, registeredName));
  }

  /** Why a code could not be claimed or decided. A code that is still pending belongs to another account. */
  async #toRefusal(trx: Trx, userCode: string): Promise<AppError> {
    const { store, clock } = this.#dependencies;
    const now = clock.now();
    const status = toDeviceCodeStatus(await store.findByUserCode(userCode, now, trx), now);
    return new AppError(status === 'pending' ? 'user_code_processed' : ERROR_BY_STATUS[status]);
  }
}

/**
 * The organization that a sign-in is to act for, whose membership is locked until the commit; null: the account itself.
 *
 * @throws not_exist, also for an organization of others
 */
export async function lockOrganization(
  trx: Trx,
  memberships: Pick<Memberships, 'find' | 'lock'>,
  slug: string | undefined,
  userId: number,
): Promise<number | null> {
  if (slug === undefined || slug === '') return null;
  const found = await memberships.find(slug, userId, trx);
  if (found === undefined || !(await memberships.lock(trx, found.organizationId, userId)))
    throw new AppError('organization_not_found');
  return found.organizationId;
}

const toAuditDetails = (code: DeviceCodeRow) => ({
  client: code.client_id,
  name: code.client_name,
  asked_from: code.address,
});

/** Maximum age of a login that may approve a device without repeating its second step. */
const LOGIN_FRESH_MS = 12 * HOUR_MS;
/** Maximum age if the request and the user come from different networks, as in a phishing attack. */
const LOGIN_FRESH_OTHER_NETWORK_MS = 10 * 60_000;

/** The deciding account, and when it logged in (Unix milliseconds). */
export interface Approver {
  readonly caller: AccountCaller;
  readonly loggedInAt: number;
  /** Slug of the organization that the sign-in is to act for; undefined or empty: the account itself. */
  readonly organization?: string | undefined;
}

interface ApprovalCheckDependencies {
  readonly secondFactors: Pick<SecondFactors, 'assertNotMissing' | 'isEnabled' | 'confirm'>;
  readonly clock: Clock;
}

type CodeOrigin = Pick<DeviceCodeRow, 'address'>;

/**
 * Requires a recent second step for approvals, so that an old cookie or token alone cannot sign in a device. The one
 * rule for every way to approve.
 */
export class ApprovalSecondStepCheck {
  readonly #dependencies: ApprovalCheckDependencies;

  constructor(dependencies: ApprovalCheckDependencies) {
    this.#dependencies = dependencies;
  }

  isFromOtherNetwork(code: CodeOrigin, clientIp: string): boolean {
    return toIpLimitKey(code.address) !== toIpLimitKey(clientIp);
  }

  async needsSecondStep(code: CodeOrigin, { caller, loggedInAt }: Approver, clientIp: string): Promise<boolean> {
    const { secondFactors, clock } = this.#dependencies;
    const freshMs = this.isFromOtherNetwork(code, clientIp) ? LOGIN_FRESH_OTHER_NETWORK_MS : LOGIN_FRESH_MS;
    return clock.now() - loggedInAt > freshMs && (await secondFactors.isEnabled(caller.userId));
  }

  /** @throws second_factor_required, and as `SecondFactors.confirm` */
  async assertSecondStep(
    code: CodeOrigin,
    approver: Approver,
    clientIp: string,
    proof: SecondStepProof,
  ): Promise<void> {
    const { secondFactors } = this.#dependencies;
    await secondFactors.assertNotMissing(approver.caller.userId, approver.caller.role);
    if (await this.needsSecondStep(code, approver, clientIp)) await secondFactors.confirm(approver.caller, proof);
  }
}

const LETTERS = 8;
const WELL_FORMED = new RegExp(`^[${USER_CODE_ALPHABET}]{${LETTERS}}$`);

/**
 * Eight letters of twenty: 34.5 bits, enough for a code that is valid for ten minutes behind a limit on guesses (RFC
 * 8628 section 5.1).
 */
export const newUserCode = (): string => randomText(LETTERS, USER_CODE_ALPHABET);

/** `WDJB-MJHT`, the displayed form. */
export const formatUserCode = (code: string): string => `${code.slice(0, LETTERS / 2)}-${code.slice(LETTERS / 2)}`;

/** Parses a typed code, ignoring case, width, dashes and spaces (RFC 8628 section 6.1); undefined if malformed. */
export function parseUserCode(typed: string): string | undefined {
  const code = normalizeTypedCode(typed).replace(/[a-z]/g, (letter) => letter.toUpperCase());
  return WELL_FORMED.test(code) ? code : undefined;
}

/** Invisible characters, direction overrides, private and unassigned code points, and line breaks. */
const INVISIBLE_CHARACTERS = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\u2028\u2029]/gu;

/** Sanitizes an untrusted name for one line of a page or notice: no invisible characters, no stacked accents. */
export function toSingleLine(text: string, maxLength: number): string {
  const plain = text
    .replace(INVISIBLE_CHARACTERS, ' ')
    .replace(/(\p{M}{2})\p{M}+/gu, '$1')
    .replace(/\s+/gu, ' ')
    .trim();
  return truncateCodePoints(plain, maxLength);
}

/** The current status of a code; the only function that decides `expired`. */
export function toDeviceCodeStatus(
  code: Pick<DeviceCodeRow, 'status' | 'expires_at'> | undefined,
  now: number,
): DeviceStatus {
  if (code === undefined) return 'invalid';
  return code.status === 'pending' && code.expires_at <= now ? 'expired' : code.status;
}

/** Why a code that is not pending cannot be decided, logged in for or approved. */
const ERROR_BY_STATUS: Readonly<Record<Exclude<DeviceStatus, 'pending'>, ErrorCode>> = {
  invalid: 'user_code_invalid',
  expired: 'user_code_expired',
  approved: 'user_code_processed',
  denied: 'user_code_processed',
  used: 'user_code_processed',
};

/**
 * Maximum time a sign-in may be renewed, counted from its approval (OWASP ASVS 5.0, 10.4.8), so that a stolen chain of
 * refresh_tokens ends as well.
 */
export const MAX_SIGN_IN_MS = 365 * DAY_MS;

type TokenLimits = Pick<DeviceCodeRow, 'scopes' | 'grant_ends_at'>;

/** When an access_token issued now expires, and no later than its grant. Unix milliseconds. */
export const toAccessEnd = (now: number, { scopes, grant_ends_at: end }: TokenLimits): number =>
  Math.min(now + (scopes === null ? ACCESS_TOKEN_SECONDS : GRANT_ACCESS_SECONDS) * 1000, end ?? Infinity);

/** When a refresh_token issued now expires, and no later than its grant. Unix milliseconds. */
export const toRefreshEnd = (now: number, { grant_ends_at: end }: Pick<TokenLimits, 'grant_ends_at'>): number =>
  Math.min(now + REFRESH_TOKEN_SECONDS * 1000, end ?? Infinity);

/** The console page that lists devices. */
export const DEVICES_PAGE = '/account/devices';

type Device = { readonly id: number; readonly clientName: string; readonly registeredName: string };

const nameOf = ({ clientName, registeredName }: Device): string =>
  clientName === '' || clientName === registeredName ? registeredName : `${registeredName} (“${clientName}”)`;

/** Notifies the owner of an approved device, so that they notice an approval by someone else. */
function newDeviceNotice(code: DeviceCodeRow & { readonly user_id: number }, registeredName: string): Notice {
  const name = nameOf({ id: code.id, clientName: code.client_name, registeredName });
  const { address } = code;
  return {
    userId: code.user_id,
    topic: 'device.new',
    type: 'system',
    title: { en: 'New device signed in', 'zh-CN': '新设备已登录' },
    content: {
      en: `${name} was allowed to sign in from ${address}. If this was not you, sign it out in the list of devices and change your password.`,
      'zh-CN': `已允许 ${`${name} `.replace(/ \((.*)\) $/, '（$1）')}从 ${address} 登录。如果不是您本人操作，请在设备列表中结束该登录并修改密码。`,
    },
    targetUrl: DEVICES_PAGE,
    relatedId: code.id,
    deduplicationKey: `device.new:${code.id}`,
    event: { type: 'device.signed_in', subject: `device:${code.id}`, data: { id: code.id, name, address } },
  };
}

/** Notifies the owner of an application that was let in, so that they notice an approval by someone else. */
export const newGrantNotice = (grant: {
  readonly id: number;
  readonly userId: number;
  readonly name: string;
  readonly address: string;
}): Notice => ({
  userId: grant.userId,
  topic: 'device.new',
  type: 'system',
  title: { en: 'An application got access to your account', 'zh-CN': '已有应用获得您账号的访问权限' },
  content: {
    en: `${grant.name} was allowed in from ${grant.address}. If this was not you, end it in the list of devices and change your password.`,
    'zh-CN': `已在 ${grant.address} 允许 ${grant.name} 访问。如果不是您本人操作，请在设备列表中结束该授权并修改密码。`,
  },
  targetUrl: DEVICES_PAGE,
  relatedId: grant.id,
  deduplicationKey: `device.new:${grant.id}`,
  event: {
    type: 'device.signed_in',
    subject: `device:${grant.id}`,
    data: { id: grant.id, name: grant.name, address: grant.address },
  },
});

/** Notifies the owner of an authorization code that was used twice, of which someone else may have a copy. */
export const codeReuseNotice = (device: Device & { readonly userId: number }): Notice => ({
  ...reuseNotice(device),
  content: {
    en: `${nameOf(device)} used an authorization code that had been used before, so its access was ended. Connect it again; if you did not expect this, change your password.`,
    'zh-CN': `${nameOf(device)} 重复使用了授权码，其访问权限已被结束。请重新连接；如果您对此并不知情，请修改密码。`,
  },
});

/** Notifies the owner of a reused refresh_token, of which someone else may have a copy. */
export function reuseNotice(device: Device & { readonly userId: number }): Notice {
  const name = nameOf(device);
  return {
    userId: device.userId,
    topic: 'security',
    type: 'system',
    title: { en: 'A device was signed out for safety', 'zh-CN': '为安全起见，已退出一台设备' },
    content: {
      en: `${name} used a refresh token that had been used before, so its sign-in was ended. Sign in again on it; if you did not expect this, change your password.`,
      'zh-CN': `${name} 重复使用了已失效的刷新令牌，其登录已被结束。请在该设备上重新登录；如果您对此并不知情，请修改密码。`,
    },
    targetUrl: DEVICES_PAGE,
    relatedId: device.id,
    deduplicationKey: `device.reuse:${device.id}`,
  };
}

/** Names listed in one notification. */
const MAX_LISTED = 5;

const listNames = (devices: readonly Device[], separator: string, toRest: (count: number) => string): string => {
  const rest = devices.length - MAX_LISTED;
  const names = devices.slice(0, MAX_LISTED).map(nameOf);
  return names.join(separator) + (rest > 0 ? toRest(rest) : '');
};

/**
 * Notifies the owner of sign-ins that an administrator ended, so that they know why programs stopped working.
 *
 * @param removedClient name of the client, if the administrator removed it as a whole
 */
export function endedNotice(userId: number, devices: readonly Device[], removedClient?: string): Notice {
  const en = listNames(devices, ', ', (count) => ` and ${count} more`);
  const chinese = listNames(devices, '、', (count) => `，另有 ${count} 项`);
  const cause = {
    en:
      removedClient === undefined
        ? 'An administrator ended this sign-in'
        : `An administrator deleted the client ${removedClient}, which ended these sign-ins`,
    'zh-CN':
      removedClient === undefined ? '管理员已结束以下登录' : `管理员已删除客户端 ${removedClient}，以下登录随之结束`,
  };
  return {
    userId,
    topic: 'security',
    type: 'system',
    title: { en: 'An administrator ended a sign-in of yours', 'zh-CN': '管理员已结束您的登录' },
    content: {
      en: `${cause.en}: ${en}. Its tokens no longer work. If you did not expect this, ask the administrator.`,
      'zh-CN': `${cause['zh-CN']}：${chinese}。相关令牌已失效。如果您对此并不知情，请询问管理员。`,
    },
    targetUrl: DEVICES_PAGE,
    relatedId: devices[0]?.id ?? 0,
  };
}

/** Purpose of a login for a device code; its subject is the code. */
export const LOGIN_PURPOSE = 'device';

interface DeviceCodeLoginDependencies {
  readonly codes: DeviceCodeService;
  readonly rateLimits: DeviceRateLimits;
  readonly logins: Pick<LoginService, 'logIn'>;
}

interface DeviceCodeLogin {
  readonly user_code: string;
  /** User name or e-mail. */
  readonly username: string;
  readonly password: string;
}

/**
 * Logs in for a pending code and claims it. The code replaces a captcha, but anyone can request codes, so the password
 * counts against the same limits as every login, and five wrong ones close the code to logins.
 *
 * @throws the errors of `DeviceCodeService.findPending`, `LoginService.logIn` and `DeviceCodeService.claim`
 */
export async function logInForDevice(
  { codes, rateLimits, logins }: DeviceCodeLoginDependencies,
  { user_code, username, password }: DeviceCodeLogin,
  client: LoginClient,
): Promise<LoginOutcome> {
  const { user_code: subject } = await codes.findPending(user_code, client.address);
  await rateLimits.consumeLoginAttempt(subject);
  const outcome = await logins.logIn({ username, password, client, purpose: { name: LOGIN_PURPOSE, subject } });
  await rateLimits.refundLoginAttempt(subject);
  return outcome;
}
