import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BlockedIpError, guardedLookup, HostNotFoundError, type ResolvedIp } from './connector.ts';

const GOOD: readonly ResolvedIp[] = [
  { address: '2001:4860::1', family: 6 },
  { address: '8.8.8.8', family: 4 },
];
const BAD: ResolvedIp = { address: '10.0.0.1', family: 4 };

/** What a socket is told about a name: all addresses, or one. */
const lookUp = (found: readonly ResolvedIp[] | Error, all: boolean) =>
  new Promise<unknown[]>((resolve) => {
    const lookup = guardedLookup({
      resolve: async () => {
        if (found instanceof Error) throw found;
        return found;
      },
      allows: (address) => address !== BAD.address,
    });
    lookup('host.test', { all }, (error, ...answer) => resolve(error === null ? answer : [error]));
  });

describe('the lookup of a guarded socket', () => {
  it('gives all addresses of a name, or the first, as the socket asks', async () => {
    assert.deepEqual(await lookUp(GOOD, true), [GOOD]);
    assert.deepEqual(await lookUp(GOOD, false), ['2001:4860::1', 6]);
  });

  it('T48: fails for one address that is not allowed, wherever it stands', async () => {
    for (const found of [[BAD], [BAD, ...GOOD], [...GOOD, BAD]])
      for (const all of [true, false]) assert.ok((await lookUp(found, all))[0] instanceof BlockedIpError);
  });

  it('fails for a name without an address, and for one that cannot be resolved', async () => {
    const cause = new Error('SERVFAIL');
    for (const found of [[], cause]) {
      const [error] = await lookUp(found, true);
      assert.ok(error instanceof HostNotFoundError);
      assert.equal(error.cause, found === cause ? cause : undefined);
      assert.match(error.message, found === cause ? /could not be resolved/ : /has no address/);
    }
  });
});
