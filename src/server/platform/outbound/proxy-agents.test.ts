import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Proxies } from './client.ts';
import { BlockedIpError } from './guard.ts';

const MOST = 200;
/** undici's type declarations omit these properties. */
const stateOf = (agent: unknown) => agent as { readonly closed: boolean; readonly destroyed: boolean };
const proxies = () =>
  new Proxies({
    resolve: async () => [],
    // Names are not addresses; they are checked after resolution.
    allows: (address) => address === '::2' || address === '10.0.0.2',
    timeoutMs: 1_000,
    connections: 2,
  });

describe('proxy agents', () => {
  it('are created once per proxy, and closed together', async () => {
    const own = proxies();
    const agent = own.agentFor('http://proxy.test:1');
    assert.equal(own.agentFor('http://proxy.test:1'), agent);
    const other = own.agentFor('http://proxy.test:2');
    assert.notEqual(other, agent);
    await own.destroy();
    assert.deepEqual([stateOf(agent).destroyed, stateOf(other).destroyed], [true, true]);
  });

  it('are refused for an IP that is not permitted, in brackets too', () => {
    for (const url of ['http://10.0.0.1:1', 'http://[::1]:1'])
      assert.throws(() => proxies().agentFor(url), BlockedIpError, url);
    for (const url of ['http://10.0.0.2:1', 'http://[::2]:1']) assert.doesNotThrow(() => proxies().agentFor(url), url);
  });

  it('are kept for the 200 most recent proxies; the oldest is closed to make room', async () => {
    const own = proxies();
    const agents = Array.from({ length: MOST }, (_, port) => own.agentFor(`http://proxy.test:${port + 1}`));
    assert.ok(agents.every((agent) => !stateOf(agent).closed));
    own.agentFor('http://one-more.test');
    assert.deepEqual([stateOf(agents[0]).closed, stateOf(agents[1]).closed], [true, false]);
    assert.equal(own.agentFor('http://proxy.test:2'), agents[1]);
    assert.notEqual(own.agentFor('http://proxy.test:1'), agents[0]);
    await own.destroy();
  });
});
