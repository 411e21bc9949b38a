import type { Accounts } from '../accounts/accounts.ts';
import type { DeviceTokens } from '../accounts/authenticator.ts';
import type { EndsWithAccount } from '../accounts/ending.ts';
import type { Notifier } from '../notifications/notifier.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { AppError } from '../platform/errors.ts';
import type { Limits } from '../platform/limits/limits.ts';
import type { Log } from '../platform/log.ts';
import type { Tables } from '../tables.ts';
import { findByAccess, sweepRefresh } from './authorization-store.ts';
import { type Clients, makeClients } from './clients.ts';
import { dropApprovedOf, keepPace, sweepCodes, widenPace } from './code-store.ts';
import { type Codes, makeCodes } from './codes.ts';
import { type Devices, makeDevices, type OnPending } from './devices.ts';
import { type EndDevices, makeEndDevices } from './ending.ts';
import { makeDeviceUse } from './last-use.ts';
import { type DeviceLimits, type LimitConfig, makeDeviceLimits } from './limits.ts';
import { makeNameDevice, type NameDevice } from './naming.ts';

export interface DeviceAuthConfig extends LimitConfig {
  readonly deviceCodeTtlSeconds: number;
  readonly refreshReuseWindowSeconds: number;
}

export interface DeviceAuthParts {
  readonly config: DeviceAuthConfig;
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: Limits;
  readonly notifier: Notifier;
  readonly accounts: Pick<Accounts, 'audit' | 'logins' | 'standing' | 'tokens'>;
}

/** What device authorization offers its own routes, accounts and app.ts. */
export interface DeviceAuth extends DeviceTokens, EndsWithAccount {
  readonly codes: Codes;
  readonly devices: Devices;
  readonly clients: Clients;
  readonly limits: DeviceLimits;
  readonly endDevices: EndDevices;
  readonly nameDevice: NameDevice;
  /** Paces clients of the standard face: who polls early is told to slow down, and for good (RFC 8628 section 3.5). */
  readonly paceByStandard: OnPending;
  /** Removes what has had its time. */
  sweep(): Promise<void>;
  /** Writes what is still to be written. */
  close(): Promise<void>;
}

/** Name of the purpose a login for a code has; its subject is the code. */
export const LOGIN_PURPOSE = 'device';

const SWEEP_BATCH = 1_000;
/** For so long a refresh_token that can no longer be used is told "expired" and not "invalid". */
const REFRESH_REMEMBERED_MS = 30 * 24 * 60 * 60_000;

/** Puts the parts of this capability together. */
export function makeDeviceAuth(parts: DeviceAuthParts): DeviceAuth {
  const { config, database, clock, log, accounts } = parts;
  const { kysely } = database;
  const limits = makeDeviceLimits(parts.limits, config);
  const clients = makeClients(database, clock, accounts.audit);
  const endDevices = makeEndDevices(accounts.tokens);
  const use = makeDeviceUse(database, clock, log);
  const shared = { ...parts, ...accounts, clients, limits, endDevices };
  const codes = makeCodes({ ...shared, ttlSeconds: config.deviceCodeTtlSeconds });
  accounts.logins.serve({
    name: LOGIN_PURPOSE,
    loggedIn: (trx, userCode, account) => codes.claim(trx, userCode, account.id),
  });
  return {
    codes,
    clients,
    limits,
    endDevices,
    nameDevice: makeNameDevice(database, accounts.audit),
    devices: makeDevices({ ...shared, reuseWindowMs: config.refreshReuseWindowSeconds * 1000 }),
    async paceByStandard(code, now) {
      if (await keepPace(kysely, code.id, now)) return new AppError('authorization_pending');
      await widenPace(kysely, code.id, now);
      return new AppError('slow_down');
    },
    async find(tokenHash) {
      const row = await findByAccess(kysely, tokenHash);
      return row && { userId: row.user_id, authorizationId: row.id, expiresAt: row.access_expires_at };
    },
    used: (authorizationId, address) => use.note(authorizationId, address),
    async endAll(trx, userId) {
      await dropApprovedOf(trx, userId);
      await endDevices(trx, { user_id: userId });
    },
    async sweep() {
      const now = clock.now();
      while ((await sweepCodes(kysely, now, SWEEP_BATCH)) === SWEEP_BATCH);
      await sweepRefresh(kysely, now - REFRESH_REMEMBERED_MS);
    },
    close: () => use.close(),
  };
}
