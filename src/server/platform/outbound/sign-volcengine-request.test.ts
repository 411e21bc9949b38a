import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signVolcengineRequest } from '../../vendors/jimeng/adapter.ts';

const request = {
  method: 'POST',
  url: 'https://visual.volcengineapi.com/?Action=CVSync2AsyncSubmitTask&Version=2022-08-31',
  pieces: ['{"req_key":"jimeng_t2v_v30","prompt":"a cat",', '"seed":-1,"frames":121,"aspect_ratio":"16:9"}'],
} as const;
const key = { accessKey: 'AKLTexample', secretKey: 'c2VjcmV0LWV4YW1wbGU=', region: 'cn-north-1', service: 'cv' };
const now = Date.UTC(2026, 0, 2, 3, 4, 5);
const signatureOf = (headers: Readonly<Record<string, string>>) =>
  /Signature=(.*)$/.exec(headers.authorization ?? '')?.[1];

/** Two sets of signed headers: one from the vendor's HTTP sample, one computed by the signer of its Node packages. */
test('the signature matches those of the vendor’s signers', () => {
  const sample = signVolcengineRequest({ ...request, headers: { 'content-type': 'application/json' } }, key, now);
  assert.equal(signatureOf(sample), '1bd2a3f96e42bbd02c98263d3421b1825a25b69817a3ebd49c72af5a55e14c94');
  assert.equal(sample['x-content-sha256'], 'c8b20c30685dd6838d0d70e6351fdae202131c02c7e7220f48f595b1fb33841a');
  assert.equal(sample['x-date'], '20260102T030405Z');
  assert.match(
    sample.authorization ?? '',
    /^HMAC-SHA256 Credential=AKLTexample\/20260102\/cn-north-1\/cv\/request, SignedHeaders=content-type;host;x-content-sha256;x-date, /,
  );
  const packages = signVolcengineRequest({ ...request, headers: {} }, key, now);
  assert.equal(signatureOf(packages), '2e0bb0a5b2b36dfaf12c498dae16962d417ed9e7dae3bc880bdc69547d5f9b4a');
});

test('every signed part affects the signature', () => {
  const sign = (changed: Partial<typeof request> & object, other: Partial<typeof key> = {}, at = now) =>
    signatureOf(signVolcengineRequest({ ...request, headers: {}, ...changed }, { ...key, ...other }, at));
  const signatures = new Set([
    sign({}),
    sign({ pieces: [...request.pieces, ' '] } as object),
    sign({ url: request.url.replace('Submit', 'Get') } as object),
    sign({ url: request.url.replace('visual', 'evil') } as object),
    sign({ method: 'GET' } as object),
    sign({}, { secretKey: 'other' }),
    sign({}, { region: 'ap-southeast-1' }),
    sign({}, {}, now + 1_000),
  ]);
  assert.equal(signatures.size, 8);
});

test('a query is signed in its canonical form, however it is written', () => {
  const sign = (query: string) =>
    signatureOf(signVolcengineRequest({ ...request, url: `https://host.test/?${query}`, headers: {} }, key, now));
  assert.equal(sign('b=1&a=x*y%20z'), sign('a=x%2Ay+z&b=1'));
  // Computed with Python's hmac and urllib: only the unreserved characters of RFC 3986 stay unencoded.
  assert.equal(sign("a=!'()*~+%C3%A9"), '87ec67f3b75a989825d2b632f330c2ef3c53623a69ad46c1be29931ea16db013');
});
