import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createIpCheck, toIpRange } from './client-ip.ts';

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
