import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { it } from 'node:test';
import { AccelRedirect, toAccelHeaders } from './content.ts';

const FORWARDED = { 'x-forwarded-for': '198.51.100.7' };
const from = (remoteAddress: string, headers: Record<string, string> = FORWARDED) => ({
  headers,
  socket: { remoteAddress } as Socket,
});

it('T99: accepts requests forwarded by the configured proxies only', () => {
  const accel = new AccelRedirect(['127.0.0.1', '10.1.0.0/16']);
  for (const peer of ['127.0.0.1', '::ffff:127.0.0.1', '10.1.2.3']) assert.equal(accel.accepts(from(peer)), true, peer);
  for (const peer of ['127.0.0.2', '10.2.0.1', '::1', '198.51.100.7', ''])
    assert.equal(accel.accepts(from(peer)), false, peer);
  // X-Forwarded-For is client-controlled: it may contain any address.
  assert.equal(accel.accepts(from('198.51.100.7', { 'x-forwarded-for': '127.0.0.1, 10.1.2.3' })), false);
});

it('rejects other programs on the proxy’s host, and conditions that nginx would evaluate differently', () => {
  const accel = new AccelRedirect(['127.0.0.1']);
  for (const headers of [{}, { ...FORWARDED, 'if-match': '"a"' }, { ...FORWARDED, 'if-unmodified-since': 'x' }])
    assert.equal(accel.accepts(from('127.0.0.1', headers)), false);
});

it('rejects every request when no proxy is configured', () => {
  assert.equal(new AccelRedirect([]).accepts(from('127.0.0.1')), false);
});

it('names the file and leaves its length and range to nginx', () => {
  const headers = { etag: '"a"', 'content-length': '100', 'content-range': 'bytes 0-99/200', 'accept-ranges': 'bytes' };
  assert.deepEqual(toAccelHeaders('Ab/Abc', headers), {
    etag: '"a"',
    'x-accel-redirect': '/stored-videos/Ab/Abc',
    'content-length': '0',
  });
});
