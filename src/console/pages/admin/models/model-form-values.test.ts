import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type AnyPrice,
  areConditionsComplete,
  examplePrice,
  parseMediaSchema,
  toPrice,
  toPriceFormValues,
} from './model-form-values.ts';

test('empty text is no schema, an object is a schema, anything else is refused', () => {
  assert.deepEqual(parseMediaSchema(' \n'), { ok: true, schema: null, names: [] });
  const read = parseMediaSchema('{"type": "object", "properties": {"camera": {}, "style": {}}}');
  assert.deepEqual(read.ok && read.names, ['camera', 'style']);
  for (const text of ['[]', '1', 'null', '"x"']) assert.equal(parseMediaSchema(text).ok, false, text);
});

test('the line of a syntax error is reported', () => {
  const read = parseMediaSchema('{\n  "type": "object",\n  "properties": oops\n}');
  assert.equal(!read.ok && read.line, 3);
  const cut = parseMediaSchema('{\n  "type":');
  assert.equal(!cut.ok && cut.line, 2);
});

describe('price form values', () => {
  const PER_UNIT = 500_000;

  test('a price survives the round trip through its form', () => {
    const videos: AnyPrice[] = [
      { per_call: 0, per_second: 28_000, multipliers: { mode: { pro: 1.75 }, audio: { true: 2 } } },
      { per_call: 1, per_second: 0 },
      { per_call: 999_999_999, per_second: 3 },
      { per_call: 0, per_second: 3, settle_by: 'vendor' as const },
      {
        lines: [
          { when: { mode: ['pro'], seconds: [5, 10] }, per_second: 3, per_input_image: 7 },
          { when: { audio: [true, false] }, per_unit: 3.285714, max_units: 906, max_units_per_second: 21_736.5 },
          { per_call: 1 },
        ],
        settle_by: 'vendor' as const,
        multipliers: { resolution: { '4k': 1.5 } },
      },
    ];
    for (const price of videos) assert.deepEqual(toPrice(toPriceFormValues(price, PER_UNIT), 'video', PER_UNIT), price);
    const chat = { input_per_million: 1_250_000, output_per_million: 5_000_001 };
    const detailed = {
      ...chat,
      cached_input_per_million: 0,
      cache_write_1h_per_million: 2_500_000,
      per_call: 7,
      tiers: [{ above_input_tokens: 200_000, input_per_million: 3_000_000, audio_output_per_million: 11 }],
    };
    for (const price of [chat, detailed])
      assert.deepEqual(toPrice(toPriceFormValues(price, PER_UNIT), 'chat', PER_UNIT), price);
  });

  test('unfinished multipliers are omitted', () => {
    const draft = {
      ...toPriceFormValues({ per_second: 10 }, 10),
      multipliers: [{ key: 1, factor: 'mode', value: ' ', by: 2 }],
    };
    assert.deepEqual(toPrice(draft, 'video', 10), { per_call: 0, per_second: 10 });
  });

  test('conditions keep the type of their fact, and none is without a value', () => {
    const [line] = toPriceFormValues({ lines: [{ per_call: 10 }] }, 10).lines;
    assert.ok(line);
    const conditions = [
      { key: 0, fact: 'seconds', values: ['5', '10'] },
      { key: 1, fact: 'mode', values: ['10'] },
      { key: 2, fact: 'audio', values: ['true'] },
    ];
    const draft = { ...toPriceFormValues({ lines: [] }, 10), isLined: true, lines: [{ ...line, conditions }] };
    assert.deepEqual(toPrice(draft, 'video', 10).lines, [
      { when: { seconds: [5, 10], mode: ['10'], audio: [true] }, per_call: 10 },
    ]);
    assert.ok(areConditionsComplete(draft.lines));
    assert.ok(!areConditionsComplete([{ ...line, conditions: [{ key: 0, fact: 'mode', values: [] }] }]));
  });
});

describe('example price', () => {
  test('the example multiplies the applicable factors, rounds up once, and ignores floating-point errors', () => {
    const price = { per_call: 0, per_second: 28_000, multipliers: { mode: { pro: 1.1 }, audio: { true: 2 } } };
    const terms = [{ label: 'per_second', quantity: 5, unitQuota: 28_000, per: 1 }];
    assert.deepEqual(examplePrice(price, 5, { mode: 'pro' }), { quota: 154_000, terms, times: [1.1] });
    assert.deepEqual(examplePrice(price, 5, { mode: 'std', audio: 'true' }), { quota: 280_000, terms, times: [2] });
    assert.equal(examplePrice({ per_call: 1, multipliers: { mode: { pro: 1.5 } } }, 5, { mode: 'pro' })?.quota, 2);
    assert.equal(examplePrice({ lines: [{ when: { mode: ['std'] }, per_call: 1 }] }, 5, { mode: 'pro' }), undefined);
  });
});
