import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { minimumVideoPrice, priceCall, UnpricedError } from '../src/contract/pricing.ts';
import { parsePrice } from '../src/server/channels/model-admin.ts';

const PRICE = {
  lines: [
    { when: { mode: ['pro'], seconds: [5, 10] }, per_second: 7, per_input_image: 2 },
    { when: { audio: [true] }, per_call: 100 },
    { when: { resolution: ['720p', '1080p'] }, per_unit: 3, max_units: 50 },
  ],
  multipliers: { resolution: { '1080p': 1.5 } },
  settle_by: 'vendor',
} as const;
const quotaOf = (facts: Record<string, string | number>): number => priceCall(parsePrice(PRICE, 'video'), facts).quota;

describe('a price with price lines', () => {
  it('uses the first line that matches', () => {
    assert.equal(quotaOf({ mode: 'pro', seconds: 5, input_images: 2, audio: 'true' }), 7 * 5 + 2 * 2);
    assert.equal(quotaOf({ mode: 'pro', seconds: 6, input_images: 2, audio: 'true' }), 100);
  });

  it('reserves the maximum units until the vendor has counted them, then multiplies', () => {
    assert.equal(quotaOf({ resolution: '720p', seconds: 5 }), 150);
    assert.equal(quotaOf({ resolution: '1080p', seconds: 5 }), 225);
    assert.equal(quotaOf({ resolution: '1080p', seconds: 5, units: 3 }), 14);
  });

  it('has no price without a matching line, nor for names that every object inherits', () => {
    const unpriced: Record<string, string | number>[] = [
      { seconds: 5 },
      { resolution: '4k', seconds: 5 },
      { constructor: 'pro', seconds: 5 },
    ];
    for (const facts of unpriced) assert.throws(() => quotaOf(facts), UnpricedError);
    const stored = { lines: [{ when: { constructor: ['x'] }, per_call: 1 }] };
    assert.throws(() => priceCall(stored, { seconds: 1 }), UnpricedError);
  });

  it('is refused where it could charge more than was reserved', () => {
    for (const [price, about] of [
      [{ lines: [] }, /lines/],
      [{ lines: [{}] }, /no price/],
      [{ lines: [{ when: { mode: ['pro'] } }] }, /no price/],
      [{ lines: [{ per_call: 1 }], per_second: 1 }, /not both/],
      [{ lines: [{ per_unit: 1, max_units: 5 }] }, /settle_by vendor/],
      [{ lines: [{ per_unit: 1 }], settle_by: 'vendor' }, /max_units/],
      [{ lines: [{ per_call: 1, max_units: 5 }], settle_by: 'vendor' }, /max_units/],
      [{ lines: [{ per_call: 1, when: { Mode: ['x'] } }] }, /price/],
      [{ lines: [{ per_call: 1, when: { resolutions: ['720p'] } }, { per_call: 2 }] }, /lines\.0\.when\.resolutions/],
      [{ lines: [{ per_call: 2 }, { per_call: 1, when: { weather: ['x'] } }] }, /lines\.1\.when\.weather/],
      [{ lines: [{ per_call: 2, when: { constructor: ['x'] } }] }, /when\.constructor/],
      [{ per_call: 2, multipliers: { resolutions: { '1080p': 2 } } }, /multipliers\.resolutions/],
      [{ lines: [{ per_call: -1 }] }, /price/],
      [{ lines: [{ per_call: 1.5 }] }, /price/],
    ] as const)
      assert.throws(
        () => parsePrice(price, 'video'),
        (error: { options?: { params?: { detail?: unknown } } }) =>
          about.test(JSON.stringify(error.options?.params?.detail)),
        JSON.stringify(price),
      );
    assert.throws(() => parsePrice({ lines: [{ per_call: 1 }], settle_by: 'vendor' }, 'image'));
  });

  it('leaves prices in the old format unchanged', () => {
    const old = parsePrice({ per_second: 10, multipliers: { mode: { pro: 2 } } }, 'video');
    assert.deepEqual(old, { per_call: 0, per_second: 10, multipliers: { mode: { pro: 2 } } });
    assert.equal(priceCall(old, { seconds: 3, mode: 'pro', input_images: 9 }).quota, 60);
  });

  it('has a minimum that is not zero if only the source is priced', () => {
    assert.equal(minimumVideoPrice({ lines: [{ per_input_second: 75 }] }, 5), 375);
    assert.equal(minimumVideoPrice({ lines: [{ per_second: 10, per_input_second: 75 }] }, 5), 50);
  });
});
