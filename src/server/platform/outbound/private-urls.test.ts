import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../app-error.ts';
import { assertNoPrivateUrls, assertPublicUrl } from './guard.ts';

const check = (text: string) => assertNoPrivateUrls({ metadata: { any: [{ field: text }] } });

for (const [name, text] of [
  ['without a scheme', '//127.0.0.1/x'],
  ['without a scheme, by backslashes', '\\\\127.0.0.1\\x'],
  ['without a scheme, with a long path', `//127.0.0.1/${'a'.repeat(400)}`],
  ['without a scheme, this machine by name, with a long path', `//localhost/${'a'.repeat(400)}`],
  ['behind a no-break space', '\u00a0http://127.0.0.1/'],
  ['behind a byte order mark', '\ufeffhttp://127.0.0.1/'],
  ['behind blanks of several kinds', '\u2003\u200b \ufeff//127.0.0.1/'],
  ['behind more blanks than are ever written', `${' '.repeat(5_000)}http://127.0.0.1/`],
  ['with line breaks all over its scheme', `h${'\n'.repeat(100)}ttp://127.0.0.1/`],
] as const) {
  test(`a URL of this machine is refused ${name}`, () => {
    assert.throws(
      () => check(text),
      (error) => error instanceof AppError && error.code === 'invalid_request',
    );
  });
}

for (const [name, text] of [
  ['Base64 of sound, which begins with two slashes', `//uQxAAA${'AAAA'.repeat(100)}`],
  ['Base64 of a JPEG', `/9j/4AAQ${'SkZJRg'.repeat(100)}==`],
  ['a public URL without a scheme', '//images.example/a.png'],
  ['a path', '/a/b/c'],
  ['prose about an address', 'see http://127.0.0.1/'],
] as const) {
  test(`${name} passes`, () => check(text));
}

/** The detail of the refusal; undefined when the text passes. */
function refusalOf(work: () => void): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof AppError && error.code === 'invalid_request', String(error));
    return error.options.params?.['detail'] as unknown as string;
  }
}

const MUST_BE_PUBLIC = 'image must be a public address.';
const url = (text: string) => refusalOf(() => assertPublicUrl('image', text));

test('names of this machine and its networks are refused, public names pass', () => {
  for (const host of [
    'localhost',
    'LOCALHOST.',
    'a.localhost',
    'db',
    'db.internal',
    'x.svc',
    'r.home.arpa',
    '10.0.0.1',
    '[::1]',
    '0x7f.1',
    '169.254.169.254',
  ])
    for (const start of ['http://', 'https://', '//', 'HTTP://'])
      assert.equal(url(`${start}${host}/a`), MUST_BE_PUBLIC, start + host);
  for (const host of ['images.example', 'localhost.example', 'internal.example', '8.8.8.8', '[2606:4700::1]'])
    for (const start of ['http://', '//']) assert.equal(url(`${start}${host}/a`), undefined, start + host);
});

test("other schemes that fetchers follow are refused, vendors' own schemes pass", () => {
  for (const scheme of ['file', 'ftp', 'sftp', 'gopher', 'ws', 'wss', 'smb', 'jar', 'FILE'])
    assert.equal(url(`${scheme}://images.example/a`), 'image must be an http(s) address.', scheme);
  for (const scheme of ['gs', 'oss', 'asset', 'data']) assert.equal(url(`${scheme}://localhost/a`), undefined, scheme);
});

test('a text that looks like a URL must be a valid one', () => {
  assert.equal(url('http://'), 'image is not a valid URL.');
  assert.equal(url('http://[::1'), 'image is not a valid URL.');
  assert.equal(url('//['), undefined, 'without a scheme it may be anything');
  const long = (start: string, length: number) => start.padEnd(length, 'x');
  assert.equal(url(long('http://images.example/', 8_192)), undefined);
  assert.equal(url(long('http://images.example/', 8_193)), 'image is not a valid URL.');
  assert.equal(url(long('//images.example/-', 8_193)), 'image is not a valid URL.');
});

test('a text after two slashes that is not a URL is examined only up to the length of one', () => {
  const noAddress = (length: number) => '//a b/-'.padEnd(length, '-');
  assert.equal(url(noAddress(8_192)), undefined);
  assert.equal(url(noAddress(8_193)), 'image is not a valid URL.');
});

test('Base64 is distinguished from a URL by its length and characters', () => {
  const base64 = (length: number) => '//db/'.padEnd(length, 'A');
  assert.equal(url(base64(256)), MUST_BE_PUBLIC);
  assert.equal(url(base64(257)), undefined);
  assert.equal(url(`${base64(300)}==`), undefined);
  assert.equal(url(`${base64(300)}-`), MUST_BE_PUBLIC);
  assert.equal(url('//metadata/'.padEnd(300, 'A')), MUST_BE_PUBLIC);
});

test('texts are checked everywhere except in prose', () => {
  const of = (body: unknown) => refusalOf(() => assertNoPrivateUrls(body));
  const inside = 'http://10.0.0.1/';
  assert.equal(of({ a: [{ b: inside }] }), 'a.0.b must be a public address.');
  assert.equal(of(inside), ' must be a public address.');
  assert.equal(of([inside]), '0 must be a public address.');
  for (const key of ['prompt', 'text', 'negative_prompt', 'negativePrompt']) {
    assert.equal(of({ [key]: inside }), undefined, key);
    assert.equal(of({ [key]: { url: inside } }), `${key}.url must be a public address.`);
  }
  for (const nothing of [undefined, null, 5, true, {}, []]) assert.equal(of(nothing), undefined);
});
