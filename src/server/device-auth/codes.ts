import type { Transaction } from 'kysely';
import {
  ACCESS_TOKEN_SECONDS,
  type DeviceStatus,
  NAME_LENGTH_MAX,
  POLL_INTERVAL_SECONDS,
  REFRESH_TOKEN_SECONDS,
} from '../../contract/device-auth.ts';
import type { Audit } from '../accounts/audit.ts';
import type { Standing } from '../accounts/standing.ts';
import type { Notifier } from '../notifications/notifier.ts';
import { addressKey } from '../platform/address.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { AppError } from '../platform/errors.ts';
import { cutCodePoints } from '../platform/json.ts';
import { hashToken, randomText } from '../platform/secrets.ts';
import type { Tables } from '../tables.ts';
import type { Clients } from './clients.ts';
import {
  type CodeRow,
  claimCode,
  decideCode,
  dropApprovedOf,
  dropPendingOf,
  findByUserCode,
  insertCode,
} from './code-store.ts';
import type { EndDevices } from './ending.ts';
import type { DeviceLimits } from './limits.ts';
import { newDeviceNotice } from './notices.ts';
import { REFUSAL_OF, stateOf, TOMBSTONE_MS } from './states.ts';
import { newUserCode, readUserCode, showUserCode, toPlainLine } from './user-code.ts';

type Trx = Transaction<Tables>;

const DEVICE_CODE_LENGTH = 32;
const USER_AGENT_LENGTH = 200;
/** Two equal codes among the living are a one-in-millions event; five in a row are a fault. */
const CODE_TRIES = 5;

/** Where a request comes from, for limits and the audit log. */
export interface Origin {
  readonly address: string;
  readonly requestId: string;
}

export interface CodeRequest {
  readonly clientId: string;
  readonly clientName: string;
  readonly deviceId: string;
  readonly userAgent: string;
  readonly address: string;
}

/** `userCode` is in the form people see. */
export interface IssuedCode {
  readonly deviceCode: string;
  readonly userCode: string;
  readonly expiresInSeconds: number;
  readonly intervalSeconds: number;
}

/** The person's half of device authorization: codes and what becomes of them. */
export interface Codes {
  /** @throws client_unknown, rate_limit_exceeded */
  issue(request: CodeRequest): Promise<IssuedCode>;
  /** The state of a typed code, and its record where it has one. A wrong code is booked. @throws rate_limit_exceeded */
  look(typed: string, address: string): Promise<{ readonly status: DeviceStatus; readonly code: CodeRow | undefined }>;
  /** A code that can still be decided. @throws user_code_invalid, user_code_expired, user_code_processed, rate_limit_exceeded */
  pending(typed: string, address: string): Promise<CodeRow>;
  /** Makes a pending code the account's, so that no other may decide it. @throws user_code_expired, user_code_processed */
  claim(trx: Trx, userCode: string, userId: number): Promise<void>;
  /** Lets the device in. @throws as `pending`, unauthorized */
  approve(typed: string, userId: number, from: Origin): Promise<void>;
  /** Keeps the device out. @throws as `approve` */
  deny(typed: string, userId: number, from: Origin): Promise<void>;
  /**
   * Stops the address behind a code this account denied from asking for others for a while. The reporter's own network is
   * not stopped: whoever sits in it could shut everybody there out. @throws user_code_invalid, rate_limit_exceeded
   */
  report(typed: string, userId: number, from: Origin): Promise<void>;
}

export interface CodeParts {
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly clients: Clients;
  readonly limits: DeviceLimits;
  readonly standing: Standing;
  readonly audit: Audit;
  readonly notifier: Notifier;
  readonly endDevices: EndDevices;
  /** Lifetime of a pending code. */
  readonly ttlSeconds: number;
}

export function makeCodes(parts: CodeParts): Codes {
  const { database, clock, clients, limits, standing, audit, notifier, endDevices, ttlSeconds } = parts;
  const { kysely } = database;

  const store = async (request: CodeRequest, deviceCode: string, deviceId: string): Promise<string | undefined> => {
    const now = clock.now();
    const expiresAt = now + ttlSeconds * 1000;
    const userCode = newUserCode();
    const row = {
      device_code_hash: hashToken(deviceCode),
      user_code: userCode,
      client_id: request.clientId,
      client_name: toPlainLine(request.clientName, NAME_LENGTH_MAX),
      device_id: deviceId,
      address: request.address,
      user_agent: toPlainLine(request.userAgent, USER_AGENT_LENGTH),
      created_at: now,
      expires_at: expiresAt,
      interval_seconds: POLL_INTERVAL_SECONDS,
      sweep_at: expiresAt + TOMBSTONE_MS,
    };
    if (deviceId === '') return (await insertCode(kysely, row)) ? userCode : undefined;
    return database.transaction(async (trx) => {
      await dropPendingOf(trx, deviceId, now);
      return (await insertCode(trx, row)) ? userCode : undefined;
    });
  };

  const look: Codes['look'] = async (typed, address) => {
    const userCode = readUserCode(typed);
    const now = clock.now();
    const code = userCode === undefined ? undefined : await findByUserCode(kysely, userCode, now);
    await (code === undefined ? limits.miss(address) : limits.assertMayHit(address));
    return { status: stateOf(code, now), code };
  };

  const pending: Codes['pending'] = async (typed, address) => {
    const { status, code } = await look(typed, address);
    if (status !== 'pending') throw new AppError(REFUSAL_OF[status]);
    if (code === undefined) throw new AppError('user_code_invalid');
    return code;
  };

  /** Why a code could not be claimed or decided just now. A pending one is another account's. */
  const refusal = async (trx: Trx, userCode: string): Promise<AppError> => {
    const now = clock.now();
    const status = stateOf(await findByUserCode(trx, userCode, now), now);
    return new AppError(status === 'pending' ? 'user_code_processed' : REFUSAL_OF[status]);
  };

  const decide = async (typed: string, userId: number, from: Origin, status: 'approved' | 'denied'): Promise<void> => {
    const { user_code: userCode } = await pending(typed, from.address);
    await database.transaction(async (trx) => {
      // Held to the end, so that a ban comes before this decision or finds what it has to undo.
      if ((await standing.hold(trx, userId)) === undefined) throw new AppError('unauthorized');
      const now = clock.now();
      const approved = status === 'approved';
      const code = await decideCode(trx, userCode, {
        status,
        user_id: userId,
        decided_at: now,
        access_expires_at: approved ? now + ACCESS_TOKEN_SECONDS * 1000 : null,
        refresh_expires_at: approved ? now + REFRESH_TOKEN_SECONDS * 1000 : null,
        sweep_at: now + TOMBSTONE_MS,
      });
      if (code === undefined) throw await refusal(trx, userCode);
      if (approved) await replaceOlder(trx, code, userId);
      await audit.record(trx, {
        actorId: userId,
        action: approved ? 'device.approve' : 'device.deny',
        target: `device:${code.id}`,
        after: { client: code.client_id, name: code.client_name, asked_from: code.address },
        ...from,
      });
    });
  };

  /** The same device signs in anew, by whichever client: what it had before ends. Then its owner is told. */
  const replaceOlder = async (trx: Trx, code: CodeRow, userId: number): Promise<void> => {
    const { client_id, device_id, id } = code;
    if (device_id !== '') {
      await dropApprovedOf(trx, userId, { deviceId: device_id, butId: id });
      await endDevices(trx, { user_id: userId, device_id });
    }
    await notifier.notify(trx, newDeviceNotice({ ...code, user_id: userId }, await clients.nameOf(trx, client_id)));
  };

  return {
    async issue(request) {
      if ((await clients.find(request.clientId)) === undefined) throw new AppError('client_unknown');
      await limits.spendCode(request.address, request.clientId);
      const deviceCode = randomText(DEVICE_CODE_LENGTH);
      const deviceId = cutCodePoints(request.deviceId, NAME_LENGTH_MAX);
      for (let attempt = 0; attempt < CODE_TRIES; attempt++) {
        const userCode = await store(request, deviceCode, deviceId);
        if (userCode !== undefined) {
          const [expiresInSeconds, intervalSeconds] = [ttlSeconds, POLL_INTERVAL_SECONDS];
          return { deviceCode, userCode: showUserCode(userCode), expiresInSeconds, intervalSeconds };
        }
      }
      throw new AppError('unavailable', { log: { why: 'no free user_code was found' } });
    },
    look,
    pending,
    async claim(trx, userCode, userId) {
      if (!(await claimCode(trx, userCode, userId, clock.now()))) throw await refusal(trx, userCode);
    },
    approve: (typed, userId, from) => decide(typed, userId, from, 'approved'),
    deny: (typed, userId, from) => decide(typed, userId, from, 'denied'),
    async report(typed, userId, from) {
      const { status, code } = await look(typed, from.address);
      if (status !== 'denied' || code?.user_id !== userId) throw new AppError('user_code_invalid');
      const isOwnNetwork = addressKey(code.address) === addressKey(from.address);
      if (isOwnNetwork || !(await limits.stopAsking(code.address))) return;
      const after = { client: code.client_id, name: code.client_name, asked_from: code.address };
      await database.transaction((trx) =>
        audit.record(trx, { actorId: userId, action: 'device.report', target: `device:${code.id}`, after, ...from }),
      );
    },
  };
}
