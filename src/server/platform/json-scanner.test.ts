import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { MAX_IMAGE_LENGTH } from './base64.ts';
import {
  findWrittenFractions,
  JsonBoundsScanner,
  type ParsedBody,
  parseDecodingImages,
  parseRequestJson,
} from './json.ts';
import { catchJsonRejectionReason } from './rejection-reason.fixture.ts';

const rejectionOfText = (text: string) => catchJsonRejectionReason(() => parseRequestJson(Buffer.from(text)));

/** Parses a body that arrives in pieces of `size` bytes. */
function parseInPieces(bytes: Buffer, size: number): unknown {
  const scanner = new JsonBoundsScanner();
  for (let at = 0; at < bytes.length; at += size) scanner.push(bytes.subarray(at, at + size));
  return parseDecodingImages(bytes, scanner).value;
}

function parseImages(text: string, fields: readonly string[]): ParsedBody {
  const bytes = Buffer.from(text);
  const scanner = new JsonBoundsScanner();
  scanner.push(bytes);
  return parseDecodingImages(bytes, scanner, fields);
}

describe('parseRequestJson', () => {
  it('parses whatever JSON.parse parses, in any pieces', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8 }), fc.integer({ min: 1, max: 9 }), (value, size) => {
        const text = JSON.stringify(value);
        if (/__proto__|constructor/.test(text)) return;
        assert.deepEqual(parseInPieces(Buffer.from(text), size), JSON.parse(text));
      }),
    );
  });

  it('refuses text that cannot be stored, at any position', () => {
    for (const text of ['"\\u0000"', '{"a":["\\ud800"]}', '{"\\uDC00":1}', '"\\udc00\\ud800"'])
      for (const size of [1, 3, 100])
        assert.equal(
          catchJsonRejectionReason(() => parseInPieces(Buffer.from(text), size)),
          'text',
          text,
        );
    assert.equal(
      catchJsonRejectionReason(() => parseRequestJson(Buffer.from([0x22, 0xc3, 0x28, 0x22]))),
      'text',
    );
  });

  it('accepts complete surrogate pairs and escapes of harmless characters', () => {
    assert.deepEqual(parseRequestJson(Buffer.from('["\\ud83d\\ude00","\\u00e9","\\\\u0000","猫"]')), [
      '😀',
      'é',
      '\\u0000',
      '猫',
    ]);
  });

  it('T63: refuses names that pollute a prototype, however they are spelled or split', () => {
    for (const text of [
      '{"__proto__":{"polluted":1}}',
      '{"a":[1,{"__proto__" :null}]}',
      '{"\\u005f_proto__":{}}',
      '{"constructor":{"prototype":{"polluted":1}}}',
      '{"x":{"\\u0063onstructor":{"protot\\u0079pe":{}}}}',
    ])
      for (const size of [1, 4, 100])
        assert.equal(
          catchJsonRejectionReason(() => parseInPieces(Buffer.from(text), size)),
          'prototype',
          text,
        );
    assert.deepEqual(parseRequestJson(Buffer.from('{"constructor":"Renzo Piano","prompt":"__proto__"}')), {
      constructor: 'Renzo Piano',
      prompt: '__proto__',
    });
  });

  it('refuses a million keys', () => {
    assert.equal(
      rejectionOfText(`{${Array.from({ length: 1_000_000 }, (_, index) => `"${index}":0`).join()}}`),
      'width',
    );
  });

  it('T62: refuses wide, deep or long documents before they are fully received', () => {
    for (const [name, piece, reason] of [
      ['elements', '1,', 'width'],
      ['empty objects', '{},', 'width'],
      ['texts', '"a",', 'width'],
      ['words', 'true,', 'width'],
      ['arrays side by side', '[],', 'width'],
      ['levels', '[', 'depth'],
      ['objects in objects', '{"a":', 'depth'],
      ['one long number', '1', 'width'],
      ['blanks', ' ', 'width'],
      ['line ends', '\r\n', 'width'],
      ['escapes', '\\n', 'width'],
      ['escapes with digits', '\\u0041', 'width'],
      ['a long name', 'k', 'width'],
    ] as const) {
      const opening = name.includes('escapes') ? '["' : name === 'a long name' ? '{"' : '[';
      const scanner = new JsonBoundsScanner();
      const chunk = Buffer.from(piece.repeat(Math.ceil(65_536 / piece.length)));
      let pushed = 0;
      const reject = catchJsonRejectionReason(() => {
        scanner.push(Buffer.from(opening));
        for (; pushed < 30_000_000; pushed += chunk.length) scanner.push(chunk);
      });
      assert.equal(reject, reason, name);
      assert.ok(pushed < 13_000_000, `${name}: rejected after ${pushed} bytes`);
    }
  });

  it('accepts a string of 30 MB', () => {
    const text = 'A'.repeat(30_000_000);
    assert.deepEqual(parseRequestJson(Buffer.from(`{"image":"${text}"}`)), { image: text });
  });

  it('accepts long texts of any script at any position, even with escapes and U+0000', () => {
    const long = ['A'.repeat(70_000), 'é'.repeat(70_000), '漢字'.repeat(50_000)];
    for (const value of [
      long[0],
      long,
      { a: long[1], b: [long[0], { c: long[2] }], d: 'x\n', e: 1 },
      { a: `${long[0]}"`, b: long[1], c: '\\u0000' },
    ]) {
      const bytes = Buffer.from(JSON.stringify(value));
      for (const size of [1_000, 65_536, bytes.length]) assert.deepEqual(parseInPieces(bytes, size), value);
    }
    assert.deepEqual(parseRequestJson(Buffer.from(`\ufeff{"a":"${long[1]}","n":1.0}`)), { a: long[1], n: 1 });
    assert.equal(rejectionOfText(`["\\u00000","${long[0]}"]`), 'text');
  });

  it('refuses a control character in a text of any length, at any position', () => {
    for (const length of [10, 70_000])
      for (const character of ['\u0000', '\t', '\n', '\u001f'])
        for (const at of [0, 1, 5, length - 5, length - 1, length >> 1]) {
          const bytes = Buffer.from(`{"image":"${'A'.repeat(at)}${character}${'A'.repeat(length - at - 1)}"}`);
          for (const size of [999, 65_536, bytes.length])
            assert.equal(
              catchJsonRejectionReason(() => parseInPieces(bytes, size)),
              'syntax',
              `${JSON.stringify(character)} at ${at} of ${length}, in pieces of ${size}`,
            );
        }
    const others = ' ~\u007f\u0080é漢'.repeat(10_000);
    assert.deepEqual(parseRequestJson(Buffer.from(`["${others}"]`)), [others]);
  });

  it('reinserts long strings at their position, under any name and at any depth', () => {
    const [a, b, c] = ['A'.repeat(70_000), 'é'.repeat(70_000), '漢字'.repeat(50_000)] as const;
    const value = {
      messages: [{ n: [1, [], {}, [2, 3]] }, { content: ['x', a, { 'a.b': b, '': c, 名: a }], tail: [[[b]]] }, a],
      '0': { '1': a },
      last: c,
    };
    const bytes = Buffer.from(JSON.stringify(value, undefined, 1));
    for (const size of [997, 65_536, bytes.length]) assert.deepEqual(parseInPieces(bytes, size), value);
  });

  it('decodes large images of the given fields, and keeps their start in the value', () => {
    const [a, b, c] = ['A', 'B', 'C'].map((letter) => letter.repeat(70_000)) as [string, string, string];
    const cut = (text: string): string => `${text.slice(0, 960)}…[cut, ${text.length} characters]`;
    const read = (body: unknown, fields: readonly string[]) => {
      const { value, images } = parseImages(typeof body === 'string' ? body : JSON.stringify(body), fields);
      return { value, images: Object.fromEntries([...images].map(([path, image]) => [path, String(image)])) };
    };
    const url = `data:image/png;charset=utf-8;name=a.png;base64,${c}`;
    const body = {
      image: a,
      images: ['short', b, [c]],
      reference: { url, deep: { er: c } },
      prompt: '图'.repeat(30_000),
      other: [a, { image: b }],
    };
    const found = read(body, ['image', 'images', 'reference', 'missing']);
    assert.deepEqual(found.images, {
      image: a,
      'images.1': b,
      'images.2.0': c,
      'reference.url': url,
      'reference.deep.er': c,
    });
    assert.deepEqual(found.value, {
      ...body,
      image: cut(a),
      images: ['short', cut(b), [cut(c)]],
      reference: { url: cut(url), deep: { er: cut(c) } },
    });
    assert.deepEqual(read(body, []), { value: body, images: {} });
    for (const whole of [[a, b], { image: 'short' }, { image: { toString: a } }, { n: null }])
      assert.deepEqual(read(whole, ['images']), { value: whole, images: {} });
    assert.deepEqual(read(`"${a}"`, ['images']), { value: a, images: {} });
    // An escape for a surrogate elsewhere.
    assert.deepEqual(read(`{"image":"${a}","p":"\\ud83d\\ude00"}`, ['image']), {
      value: { image: cut(a), p: '😀' },
      images: { image: a },
    });
    assert.equal(
      catchJsonRejectionReason(() => read(`{"__proto__":"${a}"}`, ['__proto__'])),
      'prototype',
    );
  });

  it('decodes neither strings that are not plain Base64 nor strings with an ambiguous path', () => {
    const a = 'A'.repeat(70_000);
    const url = 'data:image/png;base64,';
    for (const body of [
      ...[`${a}é`, `${a}A`, ` ${a}`, `${a}-_-_`, `https://example.com/${a}`, `${url}${url}${a}`, `data:é;base64,${a}`],
      `data:image/png;name=\\"a\\";base64,${a}`,
      `${a}\\/AA`,
    ].map((text) => `{"image":"${text}"}`))
      assert.deepEqual(parseImages(body, ['image']), { value: JSON.parse(body), images: new Map() });
    for (const body of [
      `{"image":"${a}","image":"b"}`,
      `{"image":"${a}","image":"${a}"}`,
      `{"image":"${a}","im\\u0061ge":"b"}`,
      `{"image":{"url.x":"${a}","url":{"x":"b"}}}`,
      `{"image":{"url":"${a}","url":"b"}}`,
    ])
      assert.deepEqual(parseImages(body, ['image']), { value: JSON.parse(body), images: new Map() });
    assert.equal(
      catchJsonRejectionReason(() => parseImages(`{"image":"data:image/png;\n;base64,${a}"}`, ['image'])),
      'syntax',
    );
  });

  it('records whole numbers that are not written as integers', () => {
    const body = parseRequestJson(Buffer.from('{"a":5,"b":5.0,"c":[1e3,-2E0,0.5,-7],"d":"1.0","e":1e999}'));
    assert.deepEqual(
      findWrittenFractions(body).map(({ key }) => key),
      ['b', '0', '1'],
    );
    assert.deepEqual(findWrittenFractions(parseRequestJson(Buffer.from('{"a":5,"b":true}'))), []);
  });

  it('refuses an image above 20 MB before it is decoded and names the member', () => {
    const tooLong = 'A'.repeat(MAX_IMAGE_LENGTH + 1);
    const text = JSON.stringify({ images: ['AAAA', { first_frame: tooLong }] });
    assert.throws(() => parseImages(text, ['images']), {
      code: 'invalid_request',
      options: {
        params: { detail: 'images[1].first_frame is larger than 20 MB.' },
        param: 'images[1].first_frame',
      },
    });
    assert.equal(JSON.stringify(parseImages(text, []).value), text);
  });
});
