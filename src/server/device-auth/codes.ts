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
import { DAY_MS, HOUR_MS } from '../../contract/time-units.ts';
import type { AccountAccess } from '../accounts/account-store.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import type { TwoFactorService } from '../accounts/two-factor.ts';
import type { Notice, Notifier } from '../notifications/notifier.ts';
import { AppError } from '../platform/app-error.ts';
import { toIpLimitKey } from '../platform/client-ip.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { AccountCaller, RequestOrigin } from '../platform/http/request-context.ts';
import { assertWithinLimit } from '../platform/limits/rate-limits.ts';
import { normalizeTypedCode, truncateCodePoints } from '../platform/text.ts';
import { hashToken, randomText } from '../platform/tokens.ts';
import type { Tables, Trx } from '../tables.ts';
import type { ClientService } from './clients.ts';
import type { DeviceCodeRow, DeviceCodeStore } from './code-store.ts';
import type { DeviceRateLimits } from './rate-limits.ts';
import type { DeviceRevocation } from './revocation.ts';

const DEVICE_CODE_LENGTH = 32;
const USER_AGENT_LENGTH = 200;
/** A collision with a valid code has a chance of one in millions; five in a row indicate a bug. */
const MAX_CODE_ATTEMPTS = 5;

interface CodeRequest {
  readonly clientId: string;
  readonly clientName: string;
  readonly deviceId: string;
  readonly userAgent: string;
  /** IP of the device. */
  readonly address: string;
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
  readonly auditLog: AuditLog;
  readonly notifier: Notifier;
  readonly revocation: DeviceRevocation;
  /** Lifetime of a pending code. */
  readonly ttlSeconds: number;
  /** Pending codes that one IP (IPv6: one /64) may have at a time. */
  readonly maxLivePerNetwork: number;
}

/** The user's part of device authorization: codes and the decisions about them. */
export class DeviceCodeService {
  readonly #dependencies: DeviceCodeServiceDependencies;

  constructor(dependencies: DeviceCodeServiceDependencies) {
    this.#dependencies = dependencies;
  }

  /** @throws client_unknown, rate_limit_exceeded */
  async issue(request: CodeRequest): Promise<IssuedCode> {
    const { clients, rateLimits, ttlSeconds } = this.#dependencies;
    if ((await clients.find(request.clientId)) === undefined) throw new AppError('client_unknown');
    await rateLimits.consumeCodeRequest(request.address, request.clientId);
    const deviceCode = randomText(DEVICE_CODE_LENGTH);
    for (let attempt = 0; attempt < MAX_CODE_ATTEMPTS; attempt++) {
      const userCode = newUserCode();
      if (!(await this.#insert(request, deviceCode, userCode))) continue;
      const expiresInSeconds = ttlSeconds;
      const intervalSeconds = POLL_INTERVAL_SECONDS;
      return { deviceCode, userCode: formatUserCode(userCode), expiresInSeconds, intervalSeconds };
    }
    throw new AppError('unavailable', { log: { why: 'no free user_code was found' } });
  }

  /** The state of a typed code, and its record where it has one. An unknown code is counted. @throws rate_limit_exceeded */
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

  /** A code that can still be decided. @throws user_code_invalid, user_code_expired, user_code_processed, rate_limit_exceeded */
  async findPending(typed: string, clientIp: string): Promise<DeviceCodeRow> {
    const { status, code } = await this.lookUp(typed, clientIp);
    if (status !== 'pending') throw new AppError(ERROR_BY_STATUS[status]);
    if (code === undefined) throw new AppError('user_code_invalid');
    return code;
  }

  /** Reserves a pending code for the account, so that no other may decide it. @throws user_code_expired, user_code_processed */
  async claim(trx: Trx, userCode: string, userId: number): Promise<void> {
    const { store, clock } = this.#dependencies;
    if (!(await store.claim(trx, userCode, userId, clock.now()))) throw await this.#toRefusal(trx, userCode);
  }

  /**
   * Lets the device sign in.
   *
   * @param otp TOTP or backup code, where the login is too old to go without one
   * @throws as `findPending`; unauthorized, second_step_required, wrong_code
   */
  async approve(typed: string, approver: Approver, origin: RequestOrigin, otp: string | undefined): Promise<void> {
    const code = await this.findPending(typed, origin.address);
    await this.#dependencies.approvalCheck.assertSecondStep(code, approver, origin.address, otp);
    await this.#decide(code, approver.caller.userId, origin, 'approved');
  }

  /** Keeps the device from signing in. @throws as `findPending`; unauthorized */
  async deny(typed: string, userId: number, origin: RequestOrigin): Promise<void> {
    await this.#decide(await this.findPending(typed, origin.address), userId, origin, 'denied');
  }

  /**
   * Blocks the IP behind a code this account denied from requesting others for a while. The reporter's own network is never
   * blocked: one user in it could lock out all others. @throws user_code_invalid, rate_limit_exceeded
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

  /** False where one of the two codes exists already. @throws rate_limit_exceeded */
  async #insert(request: CodeRequest, deviceCode: string, userCode: string): Promise<boolean> {
    const { database, store, clock, ttlSeconds } = this.#dependencies;
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
    };
    if (row.device_id === '') {
      await this.#assertRoomFor(row.network, now);
      return store.insert(row);
    }
    return database.transaction(async (trx) => {
      await store.deletePendingOfDevice(trx, row.device_id, now);
      await this.#assertRoomFor(row.network, now, trx);
      return store.insert(row, trx);
    });
  }

  /** Limits pending codes per network, so that codes nobody decides cannot fill the table. @throws rate_limit_exceeded */
  async #assertRoomFor(network: string, now: number, trx?: Trx): Promise<void> {
    const { store, maxLivePerNetwork } = this.#dependencies;
    const { count, firstEnd } = await store.countLive(network, now, trx);
    assertWithinLimit({ allowed: count < maxLivePerNetwork, retryAfterMs: firstEnd - now });
  }

  async #decide(
    pending: DeviceCodeRow,
    userId: number,
    origin: RequestOrigin,
    status: 'approved' | 'denied',
  ): Promise<void> {
    const { database, store, clock, access, auditLog } = this.#dependencies;
    await database.transaction(async (trx) => {
      // Locked until the commit: a concurrent ban either precedes this decision or sees and revokes its result.
      if ((await access.lockEnabled(trx, userId)) === undefined) throw new AppError('unauthorized');
      const now = clock.now();
      const isApproved = status === 'approved';
      const code = await store.decide(trx, pending.user_code, {
        status,
        user_id: userId,
        decided_at: now,
        access_expires_at: isApproved ? now + ACCESS_TOKEN_SECONDS * 1000 : null,
        refresh_expires_at: isApproved ? now + REFRESH_TOKEN_SECONDS * 1000 : null,
        sweep_at: now + ENDED_CODE_RETENTION_MS,
      });
      if (code === undefined) throw await this.#toRefusal(trx, pending.user_code);
      if (isApproved) await this.#revokePreviousSignIn(trx, code, userId);
      await auditLog.record(trx, {
        actorId: userId,
        action: isApproved ? 'device.approve' : 'device.deny',
        target: `device:${code.id}`,
        after: toAuditDetails(code),
        ...origin,
      });
    });
  }

  /** The same device signs in anew, by whichever client: its previous sign-in ends. Then its owner is notified. */
  async #revokePreviousSignIn(trx: Trx, code: DeviceCodeRow, userId: number): Promise<void> {
    const { store, clients, notifier, revocation } = this.#dependencies;
    const { client_id, device_id, id } = code;
    if (device_id !== '') {
      await store.deleteApprovedOfDevice(trx, userId, device_id, id);
      await revocation.revoke(trx, { user_id: userId, device_id });
    }
    const registeredName = await clients.findName(trx, client_id);
    await notifier.notify(trx, newDeviceNotice({ ...code, user_id: userId }, registeredName));
  }

  /** Why a code could not be claimed or decided just now. A pending one is another account's. */
  async #toRefusal(trx: Trx, userCode: string): Promise<AppError> {
    const { store, clock } = this.#dependencies;
    const now = clock.now();
    const status = toDeviceCodeStatus(await store.findByUserCode(userCode, now, trx), now);
    return new AppError(status === 'pending' ? 'user_code_processed' : ERROR_BY_STATUS[status]);
  }
}

const toAuditDetails = (code: DeviceCodeRow) => ({
  client: code.client_id,
  name: code.client_name,
  asked_from: code.address,
});

/** A login older than this has to show its second step again before it lets a device sign in. */
const LOGIN_FRESH_MS = 12 * HOUR_MS;
/** The same where the request and the user come from different networks, as in a phishing attack. */
const LOGIN_FRESH_OTHER_NETWORK_MS = 10 * 60_000;

/** Who decides about a code, and when they logged in (Unix milliseconds). */
export interface Approver {
  readonly caller: AccountCaller;
  readonly loggedInAt: number;
}

interface ApprovalCheckDependencies {
  readonly twoFactors: Pick<TwoFactorService, 'isEnabled' | 'confirm'>;
  readonly clock: Clock;
}

type CodeOrigin = Pick<DeviceCodeRow, 'address'>;

/** An old cookie or token alone lets no device sign in where the account has a second step. One rule for every way to approve. */
export class ApprovalSecondStepCheck {
  readonly #dependencies: ApprovalCheckDependencies;

  constructor(dependencies: ApprovalCheckDependencies) {
    this.#dependencies = dependencies;
  }

  isFromOtherNetwork(code: CodeOrigin, clientIp: string): boolean {
    return toIpLimitKey(code.address) !== toIpLimitKey(clientIp);
  }

  async needsSecondStep(code: CodeOrigin, { caller, loggedInAt }: Approver, clientIp: string): Promise<boolean> {
    const { twoFactors, clock } = this.#dependencies;
    const freshMs = this.isFromOtherNetwork(code, clientIp) ? LOGIN_FRESH_OTHER_NETWORK_MS : LOGIN_FRESH_MS;
    return clock.now() - loggedInAt > freshMs && (await twoFactors.isEnabled(caller.userId));
  }

  /** @throws second_step_required without a code, wrong_code, rate_limit_exceeded */
  async assertSecondStep(
    code: CodeOrigin,
    approver: Approver,
    clientIp: string,
    otp: string | undefined,
  ): Promise<void> {
    if (!(await this.needsSecondStep(code, approver, clientIp))) return;
    if (otp === undefined) throw new AppError('second_step_required');
    await this.#dependencies.twoFactors.confirm(approver.caller, otp);
  }
}

const LETTERS = 8;
const WELL_FORMED = new RegExp(`^[${USER_CODE_ALPHABET}]{${LETTERS}}$`);

/** Eight letters of twenty: 34.5 bits, enough for a code that lives ten minutes behind a limit on guesses (RFC 8628 section 5.1). */
export const newUserCode = (): string => randomText(LETTERS, USER_CODE_ALPHABET);

/** `WDJB-MJHT`, the displayed form. */
export const formatUserCode = (code: string): string => `${code.slice(0, LETTERS / 2)}-${code.slice(LETTERS / 2)}`;

/** Parses a typed code, ignoring case, width, dashes and spaces (RFC 8628 section 6.1); undefined where it cannot be one. */
export function parseUserCode(typed: string): string | undefined {
  const code = normalizeTypedCode(typed).replace(/[a-z]/g, (letter) => letter.toUpperCase());
  return WELL_FORMED.test(code) ? code : undefined;
}

/** Invisible characters, direction overrides, private and unassigned ones, and what breaks a line. */
const INVISIBLE_CHARACTERS = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\u2028\u2029]/gu;

/** An untrusted name, made safe for one line of a page or a notice: nothing invisible, no stacks of accents. */
export function toSingleLine(text: string, maxLength: number): string {
  const plain = text
    .replace(INVISIBLE_CHARACTERS, ' ')
    .replace(/(\p{M}{2})\p{M}+/gu, '$1')
    .replace(/\s+/gu, ' ')
    .trim();
  return truncateCodePoints(plain, maxLength);
}

/** The status of a record now; the only place where `expired` is decided. */
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

/** Where the person confirms the device, without and with the code (RFC 8628 section 3.2). */
export function toVerificationLinks(baseUrl: string, userCode: string) {
  const verification_uri = `${baseUrl}${authorizePage.path}`;
  return { verification_uri, verification_uri_complete: `${verification_uri}?code=${userCode}` };
}

/** How long the record of an ended code, or of an approval that no device collected, is kept to report what happened. */
export const ENDED_CODE_RETENTION_MS = DAY_MS;

/**
 * How long a sign-in may be renewed, from its approval on (OWASP ASVS 5.0, 10.4.8): a stolen chain of refresh_tokens
 * ends as well.
 */
export const MAX_SIGN_IN_MS = 365 * DAY_MS;

/** Where the console lists devices. */
export const DEVICES_PAGE = '/account/devices';

type Device = { readonly id: number; readonly clientName: string; readonly registeredName: string };

const nameOf = ({ clientName, registeredName }: Device): string =>
  clientName === '' || clientName === registeredName ? registeredName : `${registeredName} (“${clientName}”)`;

/** A device was approved. If somebody else did it, this is how the owner finds out. */
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
      'zh-CN': `已允许 ${name} 从 ${address} 登录。如果不是您本人操作，请在设备列表中结束该登录并修改密码。`,
    },
    targetUrl: DEVICES_PAGE,
    relatedId: code.id,
    deduplicationKey: `device.new:${code.id}`,
    event: { type: 'device.signed_in', subject: `device:${code.id}`, data: { id: code.id, name, address } },
  };
}

/** A refresh_token was used twice: somebody else may have a copy. */
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
