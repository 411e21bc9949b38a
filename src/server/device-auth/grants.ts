import { createHash } from 'node:crypto';
import type { SpendLimit } from '../../contract/spend-limits.ts';
import type { AccountAccess } from '../accounts/account-store.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import type { Memberships } from '../accounts/memberships.ts';
import type { SecondStepProof } from '../accounts/second-factors.ts';
import type { Notifier } from '../notifications/notifier.ts';
import { AppError } from '../platform/app-error.ts';
import { toIpLimitKey } from '../platform/client-ip.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { RequestOrigin } from '../platform/http/route-registry.ts';
import { hashToken, randomText } from '../platform/tokens.ts';
import type { Tables } from '../tables.ts';
import type { ValidRequest } from './authorization-request.ts';
import { type DeviceCodeStore, ENDED_CODE_RETENTION_MS } from './code-store.ts';
import {
  type ApprovalSecondStepCheck,
  type Approver,
  lockOrganization,
  newGrantNotice,
  toAccessEnd,
  toRefreshEnd,
  toSingleLine,
  USER_AGENT_LENGTH,
} from './codes.ts';
import type { DeviceRateLimits } from './rate-limits.ts';

/** Lifetime of an authorization code, which its client exchanges at once (RFC 9700 section 2.1.1). */
const CODE_SECONDS = 60;
const CODE_LENGTH = 43;

/** Limits a person sets for a grant. */
export interface GrantLimits {
  /** Unix milliseconds. */
  readonly endsAt: number | null;
  readonly spendLimit: SpendLimit | null;
}

/** Origin of an approval, with the person's browser. */
interface BrowserOrigin extends RequestOrigin {
  readonly userAgent: string;
}

interface GrantServiceDependencies {
  readonly database: Database<Tables>;
  readonly codeStore: DeviceCodeStore;
  readonly clock: Clock;
  readonly access: AccountAccess;
  readonly memberships: Pick<Memberships, 'find' | 'lock'>;
  readonly approvalCheck: ApprovalSecondStepCheck;
  readonly rateLimits: DeviceRateLimits;
  readonly auditLog: AuditLog;
  readonly notifier: Notifier;
}

/** A person's decisions about authorization requests. */
export class GrantService {
  readonly #dependencies: GrantServiceDependencies;

  constructor(dependencies: GrantServiceDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Approves a request.
   *
   * @param proof required if the login is too old
   * @returns the authorization code, which is stored as a hash
   * @throws unauthorized, second_step_required, wrong_code, rate_limit_exceeded
   */
  async approve(
    { client, redirectUri, terms, codeChallenge }: ValidRequest,
    approver: Approver,
    { endsAt, spendLimit }: GrantLimits,
    { userAgent, ...origin }: BrowserOrigin,
    proof: SecondStepProof,
  ): Promise<string> {
    const { database, codeStore, clock, access, memberships, approvalCheck, rateLimits, auditLog, notifier } =
      this.#dependencies;
    const { userId } = approver.caller;
    await approvalCheck.assertSecondStep(origin, approver, origin.address, proof);
    await rateLimits.consumeGrant(userId);
    const code = randomText(CODE_LENGTH);
    const now = clock.now();
    const limits = { scopes: terms.scopes.join(' '), grant_ends_at: endsAt };
    await database.transaction(async (trx) => {
      // Locked until the commit, as for a device: a concurrent ban sees this grant or prevents it.
      if ((await access.lockEnabled(trx, userId)) === undefined) throw new AppError('unauthorized');
      const organizationId = await lockOrganization(trx, memberships, approver.organization, userId);
      const id = await codeStore.insertApproved(trx, {
        organization_id: organizationId,
        device_code_hash: hashAuthorizationCode(code),
        // Not a code that can be typed.
        user_code: `grant ${randomText(24)}`,
        client_id: client.id,
        client_name: client.publisher === undefined ? '' : client.name,
        device_id: '',
        address: origin.address,
        network: toIpLimitKey(origin.address),
        user_agent: toSingleLine(userAgent, USER_AGENT_LENGTH),
        claimed_by: userId,
        user_id: userId,
        created_at: now,
        expires_at: now + CODE_SECONDS * 1000,
        decided_at: now,
        access_expires_at: toAccessEnd(now, limits),
        refresh_expires_at: toRefreshEnd(now, limits),
        interval_seconds: 0,
        sweep_at: now + ENDED_CODE_RETENTION_MS,
        ...limits,
        audience: terms.audience,
        redirect_uri: redirectUri,
        code_challenge: codeChallenge,
        spend_amount: spendLimit?.amount ?? null,
        spend_period: spendLimit?.period ?? null,
      });
      await notifier.notify(trx, newGrantNotice({ id, userId, name: client.name, address: origin.address }));
      const after = {
        client: client.id,
        redirect_uri: redirectUri,
        ...terms,
        ends_at: endsAt,
        spend_limit: spendLimit,
        organization: organizationId ?? undefined,
      };
      await auditLog.record(trx, {
        actorId: userId,
        ownerId: organizationId ?? userId,
        action: 'grant.approve',
        target: `device:${id}`,
        after,
        ...origin,
      });
    });
    return code;
  }

  /** Records that a person refused a request. */
  async deny(
    { client, terms }: ValidRequest,
    userId: number,
    { userAgent: _, ...origin }: BrowserOrigin,
  ): Promise<void> {
    const { database, auditLog } = this.#dependencies;
    const after = { scopes: terms.scopes };
    const entry = { actorId: userId, target: `device-client:${client.id}`, after, ...origin };
    await database.transaction((trx) => auditLog.record(trx, { ...entry, action: 'grant.deny' }));
  }
}

/**
 * The stored form of an authorization code: different from that of a device_code, so that neither can be collected as
 * the other, not even by an earlier release.
 */
export const hashAuthorizationCode = (code: string): string => hashToken(`authorization code ${code}`);

/** Whether a verifier belongs to a challenge (RFC 7636 section 4.6). */
export const matchesChallenge = (verifier: string, challenge: string | null): boolean =>
  createHash('sha256').update(verifier).digest('base64url') === challenge;
