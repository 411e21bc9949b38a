import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isAppError } from '../platform/app-error.ts';
import { MAX_IMAGE_BYTES } from '../platform/base64.ts';
import { fromUpload, parseMedia } from './request-media.ts';

const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(64)]);
const base64 = (text: string) => Buffer.from(text.padEnd(90)).toString('base64');

it('T57: accepts images by their first bytes, whatever their declared type', () => {
  const image = PNG.toString('base64');
  for (const text of [
    image,
    `data:image/png;base64,${image}`,
    `data:text/html;base64,${image}`,
    `data:image/jpg;charset=utf-8;name=a.png;base64,${image}`,
    `DATA:Image/PNG;BASE64,${image}`,
    `data:;base64,${image}`,
  ])
    assert.deepEqual(parseMedia(text, 'image'), { bytes: PNG, mediaType: 'image/png' });
  const begun = performance.now();
  for (const text of [
    '',
    ' ',
    base64('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'),
    `data:image/svg+xml;base64,${base64('<svg onload="alert(1)"/>')}`,
    `data:image/png;base64,${base64('<script>alert(1)</script>')}`,
    `data:text/html,${'<script>alert(1)</script>'}`,
    `data:image/png;base64,${base64('%PDF-1.7')}`,
    base64('MZ\u0090'),
    image.slice(0, -1),
    `${image.slice(0, -4)}====`,
    image.replace('A', '='),
    image.replace('A', '-'),
    `${image}\n`,
    'iVBORw0KGgo',
    'ftp://example.com/a.png',
    'http://',
    'https://user:password@example.com/a.png',
    `https://example.com/${'a'.repeat(9_000)}`,
    `${image.slice(0, 12)}${'A'.repeat(Math.ceil((MAX_IMAGE_BYTES * 4) / 3) + 400)}`,
    'A'.repeat(40 * 1024 * 1024),
  ])
    assert.throws(
      () => parseMedia(text, 'image'),
      (error) => isAppError(error, 'invalid_request'),
      text.slice(0, 60),
    );
  assert.ok(performance.now() - begun < 2_000);
});

it('T57: accepts an upload by its bytes, under a harmless file name', () => {
  const upload = (bytes: Buffer, filename = 'a.png') => ({ field: 'image', filename, mimeType: 'image/png', bytes });
  const names = ['../../etc/passwd', 'a\r\nX: y.png', 'a"b.png', '', 'ü.png', 'a'.repeat(500)];
  for (const name of names) {
    const media = fromUpload(upload(PNG, name));
    assert.ok('bytes' in media && /^[\w.-]{1,80}$/.test(media.filename ?? ''), name);
  }
  for (const bytes of [Buffer.alloc(0), Buffer.from('<svg/>'), Buffer.alloc(MAX_IMAGE_BYTES + 1)])
    assert.throws(
      () => fromUpload(upload(bytes)),
      (error) => isAppError(error, 'invalid_request'),
    );
});
