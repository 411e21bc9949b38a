import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { describe, it } from 'node:test';
import { createClientIpResolver, createIpCheck, toIpLimitKey, toIpRange } from './client-ip.ts';

describe('client ip', () => {
  function requestFrom(remoteAddress: string | undefined, forwarded?: string) {
    return {
      socket: { remoteAddress } as IncomingMessage['socket'],
      headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
    };
  }

  describe('client IP', () => {
    it('T71: is that of the peer, whatever its headers claim, when no proxy is trusted', () => {
      const addressOf = createClientIpResolver([]);
      const seen = new Set<string>();
      for (let turn = 0; turn < 1000; turn++)
        seen.add(addressOf(requestFrom('203.0.113.9', `10.0.${turn >> 8}.${turn & 255}`)));
      assert.deepEqual([...seen], ['203.0.113.9']);
      assert.equal(addressOf(requestFrom('::ffff:203.0.113.9')), '203.0.113.9');
      assert.equal(addressOf(requestFrom(undefined)), 'unknown');
    });

    it('is that of the peer when the peer is not a trusted proxy', () => {
      const addressOf = createClientIpResolver(['10.0.0.0/8']);
      assert.equal(addressOf(requestFrom('203.0.113.9', '1.2.3.4')), '203.0.113.9');
    });

    const addressOf = createClientIpResolver(['10.0.0.0/8', '192.0.2.7', 'fd00::/8']);
    for (const [peer, forwarded, client] of [
      ['10.0.0.1', '1.2.3.4', '1.2.3.4'],
      ['10.0.0.1', '9.9.9.9, 1.2.3.4', '1.2.3.4'],
      ['10.0.0.1', '9.9.9.9, 1.2.3.4, 10.2.2.2, 192.0.2.7', '1.2.3.4'],
      ['::ffff:10.0.0.1', '1.2.3.4', '1.2.3.4'],
      ['fd00::1', '2001:DB8:0:0::1', '2001:db8::1'],
      ['10.0.0.1', '1.2.3.4:5678', '1.2.3.4'],
      ['10.0.0.1', '[2001:db8::1]:443', '2001:db8::1'],
      ['10.0.0.1', '::ffff:1.2.3.4', '1.2.3.4'],
      ['10.0.0.1', undefined, '10.0.0.1'],
      ['10.0.0.1', '', '10.0.0.1'],
      ['10.0.0.1', '1.2.3.4, unknown', '10.0.0.1'],
      ['10.0.0.1', '1.2.3.4, evil key, 10.3.3.3', '10.3.3.3'],
      ['10.0.0.1', '10.4.4.4', '10.4.4.4'],
      ['192.0.2.8', '1.2.3.4', '192.0.2.8'],
    ] as const) {
      it(`is ${client} for ${peer} forwarding "${forwarded}"`, () => {
        assert.equal(addressOf(requestFrom(peer, forwarded)), client);
      });
    }

    it('errors name the entry that cannot be parsed', () => {
      for (const entry of ['proxy', '10.0.0.0/33', '10.0.0.0/x', '::/129', '', '10.0.0.1/']) {
        assert.throws(() => createClientIpResolver([entry]), TypeError, entry);
      }
    });
  });

  describe('rate-limit key of an IP', () => {
    it('is shared by all IPv6 addresses of one customer', () => {
      assert.equal(toIpLimitKey('2001:db8:1:2:3:4:5:6'), toIpLimitKey('2001:db8:1:2:ffff::1'));
      assert.notEqual(toIpLimitKey('2001:db8:1:2::1'), toIpLimitKey('2001:db8:1:3::1'));
      assert.equal(toIpLimitKey('::ffff:203.0.113.7'), '203.0.113.7');
      assert.equal(toIpLimitKey('2001:db8:1:2::1', 48), toIpLimitKey('2001:db8:1:3::1', 48));
      assert.notEqual(toIpLimitKey('2001:db8:1::1', 48), toIpLimitKey('2001:db8:2::1', 48));
      assert.equal(toIpLimitKey('1.2.3.4', 48), '1.2.3.4');
      assert.equal(toIpLimitKey('1.2.3.4'), '1.2.3.4');
      assert.equal(toIpLimitKey('unknown'), 'unknown');
    });
  });
});

describe('IP range', () => {
  for (const [text, canonical] of [
    ['203.0.113.9', '203.0.113.9'],
    [' 203.0.113.9/32 ', '203.0.113.9'],
    ['10.0.0.0/8', '10.0.0.0/8'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['2001:DB8:0::1', '2001:db8::1'],
    ['2001:db8::/32', '2001:db8::/32'],
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['::ffff:10.0.0.0/104', '10.0.0.0/8'],
    ['::ffff:10.0.0.0/64', undefined],
    ['fe80::1%eth0', undefined],
    ['10.0.0.0/33', undefined],
    ['10.0.0.0/-1', undefined],
    ['10.0.0.0/8/8', undefined],
    ['10.0.0', undefined],
    ['example.com', undefined],
    ['', undefined],
    ['/8', undefined],
  ] as const)
    it(`"${text}" is normalized to ${canonical}`, () => assert.equal(toIpRange(text), canonical));

  it('contains its own addresses and no others', () => {
    const isInside = createIpCheck(['10.0.0.0/8', '192.0.2.7', '2001:db8::/32']);
    for (const ip of ['10.255.0.1', '192.0.2.7', '2001:db8:1::2']) assert.ok(isInside(ip), ip);
    for (const ip of ['11.0.0.1', '192.0.2.8', '2001:db9::1', 'unknown', '']) assert.ok(!isInside(ip), ip);
  });

  it('errors name the entry that cannot be parsed', () => {
    assert.throws(() => createIpCheck(['10.0.0.0/8', 'proxy']), /"proxy" is neither/);
  });
});
