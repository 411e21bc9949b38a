import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ErrorCode } from '../../contract/error-codes.ts';
import { isAppError } from '../platform/app-error.ts';
import { manualClock } from '../platform/clock.ts';
import type { Credentials } from '../platform/http/request-context.ts';
import { hashToken } from '../platform/tokens.ts';
import { RequestAuthenticator, type RequestAuthenticatorDependencies } from './request-authenticator.ts';

const NOW = 1_000_000;
const KEY = `sk-${'k'.repeat(40)}`;
const DEVICE = `rgat_${'d'.repeat(43)}`;

interface Rows {
  readonly key?: object;
  readonly device?: { readonly userId: number; readonly authorizationId: number; readonly expiresAt: number };
  readonly access?: { readonly role: string; readonly status: number };
}

/** The authenticator alone, over rows given by a test. */
function open({ key = {}, device, access }: Rows = {}) {
  const keysUsed: number[] = [];
  const devicesUsed: unknown[] = [];
  const unlimited = {
    requests_per_minute: null,
    tokens_per_minute: null,
    concurrent_calls: null,
    concurrent_tasks: null,
  };
  const open = { models: null, expires_at: null, allowed_addresses: null };
  const row = { id: 3, user_id: 7, ...open, ...unlimited, status: 1, ...key };
  const authenticator = new RequestAuthenticator({
    tokens: { findByHash: async (hash: string) => (hash === hashToken(KEY) ? row : undefined) },
    tokenUse: { record: (id: number) => void keysUsed.push(id) },
    deviceTokens: {
      find: async (hash: string) => (hash === hashToken(DEVICE) ? device : undefined),
      recordUse: (id: number, ip: string) => void devicesUsed.push([id, ip]),
    },
    accounts: { findAccess: async (id: number) => (id === 7 ? access : undefined) },
    sessions: { find: async () => assert.fail('no session was sent') },
    managementTokens: { findByHash: async () => undefined },
    clock: manualClock(NOW),
    userHeader: 'service-api-user',
  } as unknown as RequestAuthenticatorDependencies);
  const outcome = async (work: Promise<unknown>): Promise<unknown> => {
    try {
      return await work;
    } catch (error) {
      assert.ok(isAppError(error), String(error));
      return error.code satisfies ErrorCode;
    }
  };
  const credentials = (headers: Credentials['headers']) => ({ headers, session: undefined, clientIp: '192.0.2.1' });
  return {
    keysUsed,
    devicesUsed,
    model: (headers: Credentials['headers']) => outcome(authenticator.model(credentials(headers))),
    account: (headers: Credentials['headers'], policy: 'account' | 'owner' = 'account') =>
      outcome(authenticator.account(policy, credentials(headers))),
  };
}

const jwt = (payload: unknown) =>
  `eyJhbGciOiJIUzI1NiJ9.${Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload)).toString('base64url')}.c2ln`;

describe('a key of the model API', () => {
  const caller = { kind: 'model', userId: 7, tokenId: 3, models: [], limits: undefined };

  it("is found in every header that vendors' clients use", async () => {
    for (const headers of [
      { authorization: `Bearer ${KEY}` },
      { authorization: `BEARER   ${KEY}  ` },
      { 'x-api-key': KEY },
      { 'x-goog-api-key': KEY },
      {
        authorization: `HMAC-SHA256 Credential=${KEY}/20260102/cn-north-1/cv/request, SignedHeaders=host, Signature=0`,
      },
      { authorization: `Bearer ${jwt({ iss: KEY, exp: 1 })}` },
      { authorization: 'Basic eDp5', 'x-api-key': KEY },
    ])
      assert.deepEqual(await open().model(headers), caller, JSON.stringify(headers));
  });

  it('is not found elsewhere, nor in a value longer than any key', async () => {
    for (const headers of [
      {},
      { authorization: KEY },
      { authorization: `Bearer ${KEY.slice(3)}` },
      { authorization: `Bearer ${KEY}x` },
      { authorization: `Bearer ${' '.repeat(700)}${KEY}` },
      { authorization: `x Bearer ${KEY}` },
      { authorization: `HMAC-SHA256 Credential=${KEY}, SignedHeaders=host` },
      { authorization: `HMAC-SHA256 Credential=${KEY}/2026/${'x'.repeat(700)}` },
      { authorization: `Bearer ${jwt({ iss: 7 })}` },
      { authorization: `Bearer ${jwt({ iss: KEY.slice(3) })}` },
      { authorization: `Bearer ${jwt('no JSON')}` },
      { authorization: `Bearer ${jwt({ iss: KEY })}.more` },
      { 'x-api-key': [KEY] as unknown as string },
    ])
      assert.equal(await open().model(headers), 'invalid_api_key', JSON.stringify(headers));
  });

  it('of the maximum length is looked up, and a longer one is not', async () => {
    const asked: string[] = [];
    const authenticator = new RequestAuthenticator({
      tokens: { findByHash: async (hash: string) => void asked.push(hash) },
    } as unknown as RequestAuthenticatorDependencies);
    const ask = (length: number) => {
      const key = `sk-${'x'.repeat(length - 3)}`;
      return assert.rejects(authenticator.model({ headers: { 'x-api-key': key }, session: undefined, clientIp: '' }));
    };
    await ask(200);
    assert.equal(asked.length, 1);
    await ask(201);
    assert.equal(asked.length, 1);
  });

  it('works until it expires, for an enabled account', async () => {
    const ask = (key: object) => open({ key }).model({ 'x-api-key': KEY });
    assert.deepEqual(await ask({ expires_at: NOW + 1 }), caller);
    assert.equal(await ask({ expires_at: NOW }), 'invalid_api_key');
    assert.equal(await ask({ status: 2 }), 'account_disabled');
    assert.deepEqual(await ask({ models: '["a","b"]' }), { ...caller, models: ['a', 'b'] });
  });

  it('is recorded as used only if it was accepted', async () => {
    const used = open();
    await used.model({ 'x-api-key': KEY });
    assert.deepEqual(used.keysUsed, [3]);
    const disabled = open({ key: { status: 2 } });
    await disabled.model({ 'x-api-key': KEY });
    assert.deepEqual(disabled.keysUsed, []);
  });
});

describe("a device's access token", () => {
  const device = { userId: 7, authorizationId: 5, expiresAt: NOW + 1 };
  const access = { role: 'user', status: 1 };
  const headers = { authorization: `Bearer ${DEVICE}`, 'service-api-user': '7' };

  it('acts for its account until it expires, and its use is recorded with the address', async () => {
    const opened = open({ device, access });
    assert.deepEqual(await opened.account(headers), { kind: 'device', userId: 7, role: 'user', authorizationId: 5 });
    assert.deepEqual(opened.devicesUsed, [[5, '192.0.2.1']]);
    assert.equal(await open({ device: { ...device, expiresAt: NOW }, access }).account(headers), 'unauthorized');
  });

  it("is rejected for a deleted or disabled account, or with another account's id", async () => {
    for (const [rows, sent] of [
      [{ device }, headers],
      [{ device, access: { ...access, status: 2 } }, headers],
      [
        { device, access },
        { ...headers, 'service-api-user': '8' },
      ],
      [{ access }, headers],
    ] as const) {
      const opened = open(rows);
      assert.equal(await opened.account(sent), 'unauthorized');
      assert.deepEqual(opened.devicesUsed, []);
    }
  });

  it("is not accepted where the owner's credential is required", async () => {
    assert.equal(await open({ device, access }).account(headers, 'owner'), 'forbidden');
  });
});
