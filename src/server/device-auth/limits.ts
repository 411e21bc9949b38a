import { addressKey } from '../platform/address.ts';
import { assertAllowed } from '../platform/limits/assert-allowed.ts';
import type { Limiter, Limits } from '../platform/limits/limits.ts';

const WINDOW_SECONDS = 600;
const REPORTED_SECONDS = 3_600;

export interface LimitConfig {
  /** Codes one address may ask for in ten minutes. */
  readonly deviceCodesPerAddress: number;
  /** Codes one client may ask for in ten minutes, over all addresses. */
  readonly deviceCodesPerClient: number;
}

/** What strangers may do how often. All but reports are counted over ten minutes. */
export interface DeviceLimits {
  /** @throws rate_limit_exceeded, for an hour after a report too */
  spendCode(address: string, clientId: string): Promise<void>;
  /** Keeps an address from asking for codes for an hour; answers whether it was not kept from it already. */
  stopAsking(address: string): Promise<boolean>;
  /** Books a wrong user_code. @throws rate_limit_exceeded when it was one too many to be answered */
  miss(address: string): Promise<void>;
  /** Keeps an address that guessed too often from learning of a hit; a hit itself costs nothing. @throws rate_limit_exceeded */
  assertMayHit(address: string): Promise<void>;
  /** Books a password tried for a code before it is looked at; five wrong ones close the code to logins. @throws rate_limit_exceeded */
  spendLogin(userCode: string): Promise<void>;
  loginSucceeded(userCode: string): Promise<void>;
  /** Books wrong client credentials. @throws rate_limit_exceeded, still calling itself invalid_client */
  wrongClient(address: string): Promise<void>;
}

export function makeDeviceLimits(limits: Limits, config: LimitConfig): DeviceLimits {
  const define = (name: string, points: number): Limiter =>
    limits.define({ name: `device-${name}`, points, durationSeconds: WINDOW_SECONDS });
  const codesOfAddress = define('codes-address', config.deviceCodesPerAddress);
  const codesOfClient = define('codes-client', config.deviceCodesPerClient);
  const reported = limits.define({ name: 'device-reported', points: 1, durationSeconds: REPORTED_SECONDS });
  const misses = define('misses', 10);
  const logins = define('logins', 5);
  const wrongClients = define('wrong-clients', 300);
  return {
    async spendCode(address, clientId) {
      assertAllowed(await reported.peek(addressKey(address)));
      assertAllowed(await codesOfAddress.consume(addressKey(address)));
      assertAllowed(await codesOfClient.consume(clientId));
    },
    stopAsking: async (address) => (await reported.consume(addressKey(address))).allowed,
    miss: async (address) => assertAllowed(await misses.consume(addressKey(address))),
    assertMayHit: async (address) => assertAllowed(await misses.peek(addressKey(address))),
    spendLogin: async (userCode) => assertAllowed(await logins.consume(userCode)),
    loginSucceeded: (userCode) => logins.giveBack(userCode),
    wrongClient: async (address) => assertAllowed(await wrongClients.consume(addressKey(address)), 'invalid_client'),
  };
}
