import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  isChatPrice,
  type Price,
  priceCall,
  priceMedia,
  priceTokens,
  toTokenCallFacts,
} from '../../src/contract/pricing.ts';
import { seededRandom } from '../../test/seeded-random.ts';
import { resolveModelMappingChains } from '../mapping/channels.ts';
import { mapPrice, readPrices } from '../mapping/models.ts';
import { describeKeyGroup, describeOtherGroups, mapGroupsToPlans } from '../mapping/plans.ts';

const random = seededRandom(17);
const draw = (most: number): number => Math.floor(random() * most);
/** Ratios as administrators write them, including odd floats. */
const RATIOS = [0.0375, 0.075, 0.1234567, 0.135, 0.25, 0.5, 1, 1.25, 2.5, 3.3333, 7.5, 15, 37.5];
const pick = (values: readonly number[]): number => values[draw(values.length)] as number;

const priceOf = (options: Record<string, unknown>, vendor: 'openai' | 'sora' | 'kling', isVideo: boolean): Price => {
  const stored = new Map(Object.entries(options).map(([key, value]) => [key, JSON.stringify(value)]));
  const outcome = mapPrice('m', vendor, isVideo, readPrices(stored, 'new-api'));
  assert.equal(outcome.kind, 'mapped');
  return (outcome as { value: Price }).value;
};

/** Price factors of a site's groups; the plan of a group multiplies prices by its factor. */
const GROUP_FACTORS = [0, 0.5, 0.75, 0.8, 1, 1.1, 1.5, 2.25];
const factorOf = (group: number): number => {
  const options = new Map([['GroupRatio', JSON.stringify({ g: group })]]);
  const [row] = mapGroupsToPlans(['g'], options, []);
  return row?.[1].kind === 'mapped' ? row[1].value.factor : 1;
};

describe('1,000 sample calls cost the same as in the source, in every group', () => {
  it('by ratio: (prompt - cached + cached × cache ratio + completion × completion ratio) × ratio × group, within 1 quota', () => {
    for (let turn = 0; turn < 600; turn++) {
      const [ratio, completion, cache] = [pick(RATIOS), pick(RATIOS), pick([0.1, 0.25, 0.5])];
      const price = priceOf(
        { ModelRatio: { m: ratio }, CompletionRatio: { m: completion }, CacheRatio: { m: cache } },
        'openai',
        false,
      );
      assert.ok(isChatPrice(price));
      const [promptTokens, completionTokens] = [draw(5_000), draw(2_000)];
      const cached = draw(promptTokens + 1);
      const group = pick(GROUP_FACTORS);
      const old = (promptTokens - cached + cached * cache + completionTokens * completion) * ratio * group;
      const facts = { promptTokens, completionTokens, parts: { cached_input: cached } };
      const { quota } = priceCall(price, toTokenCallFacts(facts, 0, factorOf(group)));
      assert.ok(
        Math.abs(quota - Math.round(old)) <= 1,
        `${old} there, ${quota} here: ${JSON.stringify({ ratio, completion, cache, promptTokens, completionTokens, cached, group })}`,
      );
    }
  });

  it('by call and by second: price × quota of a dollar, and the larger sizes of Sora', () => {
    for (let turn = 0; turn < 400; turn++) {
      const [dollars, perUnit] = [pick([0.001, 0.04, 0.1, 0.3, 0.35, 1.4, 2]), pick([500_000, 1_000_000])];
      const options = { ModelPrice: { m: dollars }, QuotaPerUnit: perUnit };
      const chat = priceOf(options, 'openai', false);
      assert.ok(isChatPrice(chat));
      assert.equal(
        priceTokens(chat, { promptTokens: draw(100), completionTokens: 5 }).quota,
        Math.round(dollars * perUnit),
      );
      const seconds = 1 + draw(12);
      const facts = (size: string) => ({ seconds, factors: { size } });
      const kling = priceOf(options, 'kling', true) as Parameters<typeof priceMedia>[0];
      assert.equal(priceMedia(kling, facts('16:9')).quota, Math.round(dollars * perUnit));
      const sora = priceOf(options, 'sora', true) as Parameters<typeof priceMedia>[0];
      for (const [size, factor] of [
        ['1280x720', 1],
        ['1792x1024', 1.666667],
      ] as const) {
        const group = pick(GROUP_FACTORS);
        const old = Math.round(dollars * perUnit * seconds * factor * group);
        const { quota } = priceCall(sora, { seconds, size, plan_factor: factorOf(group) });
        assert.ok(Math.abs(quota - old) <= 1, `${size} ${seconds} s for ${dollars} × ${group}`);
      }
    }
  });
});

const pricesOf = (program: 'new-api' | 'one-api', options: Record<string, unknown>) =>
  readPrices(new Map(Object.entries(options).map(([key, value]) => [key, JSON.stringify(value)])), program);

it("takes unstated prices from a logged call, else from the program's built-in ones, and adds a remark", () => {
  const prices = pricesOf('new-api', { ModelRatio: { m: 2 } });
  assert.deepEqual(mapPrice('m', 'openai', false, prices), {
    kind: 'mapped',
    value: { input_per_million: 2_000_000, output_per_million: 2_000_000 },
    remarks: ["its output costs 1 times its input: its program's own ratio, which no option states"],
  });
  assert.deepEqual(mapPrice('m', 'openai', false, prices, { completionRatio: 3 }), {
    kind: 'mapped',
    value: { input_per_million: 2_000_000, output_per_million: 6_000_000 },
    remarks: [],
  });
  const expression = readPrices(
    new Map([
      ['billing_setting.billing_mode', '{"m":"tiered_expr"}'],
      ['ModelPrice', '{"m":1}'],
    ]),
    'new-api',
  );
  assert.equal(mapPrice('m', 'openai', false, expression).kind, 'skipped');
});

it('resolves a chain of model names to its last, and detects a cycle', () => {
  for (const [text, mapping, circular] of [
    ['', {}, []],
    ['{}', {}, []],
    ['not json', {}, []],
    ['{"a":"b"}', { a: 'b' }, []],
    ['{"a":"b","b":"c"}', { a: 'c', b: 'c' }, []],
    ['{"a":"a"}', {}, []],
    ['{"a":"b","b":"a"}', {}, ['a', 'b']],
    ['{"a":"b","b":"c","c":"b","d":"e"}', { d: 'e' }, ['a', 'b', 'c']],
  ] as const)
    assert.deepEqual(resolveModelMappingChains(text), { mapping, circular }, text);
});

it("turns a group into a plan if its prices or channels differ, preferring its own group's factor", () => {
  const options = new Map([
    ['GroupRatio', '{"default":1,"vip":0.8,"dear":2000,"odd":1.12345678912}'],
    ['GroupGroupRatio', '{"vip":{"vip":0.7,"default":0.9}}'],
  ]);
  const channels = [
    { sourceId: 1, groups: ['default', 'vip', 'odd'] },
    { sourceId: 2, groups: ['default', 'odd'] },
  ];
  const rows = new Map(
    mapGroupsToPlans(['default', 'vip', 'dear', 'odd', 'Größe 1', 'constructor'], options, channels),
  );
  assert.deepEqual([...rows.keys()], ['vip', 'dear', 'odd']);
  assert.deepEqual(rows.get('vip'), {
    kind: 'mapped',
    value: { group: 'vip', code: 'group-vip', name: 'vip', factor: 0.7, channels: [1] },
    remarks: [],
  });
  assert.equal(rows.get('dear')?.kind, 'skipped');
  assert.deepEqual(rows.get('odd'), {
    kind: 'mapped',
    value: { group: 'odd', code: 'group-odd', name: 'odd', factor: 1.123456789, channels: [] },
    remarks: ['its factor 1.12345678912 was rounded to 1.123456789'],
  });
  const [[, reduced] = []] = mapGroupsToPlans(['default'], new Map([['GroupRatio', '{"default":0.9}']]), []);
  assert.match(
    reduced?.kind === 'mapped' ? reduced.remarks.join() : '',
    /accounts registered later do not get its plan/,
  );
  const [[, foreign] = []] = mapGroupsToPlans(['Größe 1'], new Map([['GroupRatio', '{"Größe 1":2}']]), []);
  assert.match(foreign?.kind === 'mapped' ? foreign.value.code : '', /^group-[0-9a-f]{12}$/);
});

it('names groups that become no plan, and the group of a key only if it is not that of its account', () => {
  const options = new Map([
    ['GroupRatio', '{"default":1,"keys":2,"nothing":1}'],
    ['GroupGroupRatio', '{"default":{"keys":1.5,"same":1},"vip":5}'],
  ]);
  const channels = [
    { sourceId: 1, groups: ['default', 'served'] },
    { sourceId: 2, groups: ['default'] },
  ];
  const use = {
    ofAccounts: ['default', 'unserved'],
    keys: new Map([
      ['keys', 3],
      ['auto', 2],
    ]),
  };
  assert.deepEqual(
    describeOtherGroups(use, options, channels).map(([group, text]) => `${group}: ${text}`),
    [
      'unserved: no channel of it came over; here its accounts need no plan, and all channels serve them',
      'default: with keys of the group keys its accounts paid prices × 1.5; here the factor of their plan counts',
      'keys: no account is in it, so that it becomes no plan (prices × 2, 0 of 2 channels, named by 3 keys)',
      'served: no account is in it, so that it becomes no plan (prices × 1, 1 of 2 channels, named by 0 keys)',
    ],
  );
  assert.equal(describeKeyGroup('', 'vip', options), undefined);
  assert.equal(describeKeyGroup('vip', 'vip', options), undefined);
  assert.match(describeKeyGroup('keys', 'default', options) ?? '', /× 1\.5\)/);
  assert.match(describeKeyGroup('auto', 'default', options) ?? '', /AutoGroups in turn; here/);
});

it("prices output by each program's rules: its own ratios, fixed ones before stored ones", () => {
  const outputOf = (program: 'new-api' | 'one-api', model: string, stored?: number, observed?: number) => {
    const options = {
      ModelRatio: { [model]: 1 },
      ...(stored === undefined ? {} : { CompletionRatio: { [model]: stored } }),
    };
    const outcome = mapPrice(model, 'openai', false, pricesOf(program, options), { completionRatio: observed });
    assert.equal(outcome.kind, 'mapped');
    return (outcome as { value: { output_per_million: number } }).value.output_per_million / 1_000_000;
  };
  for (const [model, newApi, oneApi] of [
    ['gpt-4o', 4, 3],
    ['gpt-4o-mini', 4, 4],
    ['gpt-4-turbo', 3, 3],
    ['gpt-4', 2, 2],
    ['gpt-3.5-turbo', 2, 3],
    ['gpt-5-mini', 8, 1],
    ['o3-mini', 4, 1],
    ['claude-3-5-sonnet-20241022', 5, 5],
    ['claude-sonnet-4-5-20250929', 5, 3],
    ['claude-2.1', 3, 3],
    ['gemini-2.5-pro', 8, 3],
    ['deepseek-chat', 1, 2],
    ['command-r-plus', 5, 5],
    ['my-own-model', 1, 1],
  ] as const)
    assert.deepEqual([outputOf('new-api', model), outputOf('one-api', model)], [newApi, oneApi], model);
  assert.equal(outputOf('new-api', 'gpt-5', 2), 8, 'fixed there whatever is stored');
  assert.equal(outputOf('new-api', 'gpt-5', 2, 2), 2, 'an older release charged what is stored, as its log shows');
  assert.equal(outputOf('new-api', 'me/gpt-5', 2), 2);
  assert.equal(outputOf('new-api', 'gpt-4o', 3.5), 3.5);
  assert.equal(outputOf('one-api', 'claude-3-opus-20240229', 2), 2, 'one-api fixes none');
});

it('imports models of an unchanged price list with built-in prices; a stored list replaces those of new-api', () => {
  const priceIn = (
    program: 'new-api' | 'one-api',
    options: Record<string, unknown>,
    model: string,
    isVideo = false,
  ) => {
    const outcome = mapPrice(model, isVideo ? 'sora' : 'openai', isVideo, pricesOf(program, options));
    return outcome.kind === 'mapped' ? outcome.value : undefined;
  };
  assert.deepEqual(priceIn('new-api', {}, 'claude-sonnet-4-5-20250929'), {
    input_per_million: 1_500_000,
    output_per_million: 7_500_000,
    cached_input_per_million: 150_000,
    cache_write_per_million: 1_875_000,
    cache_write_1h_per_million: 3_000_000,
  });
  assert.deepEqual(priceIn('new-api', {}, 'gemini-2.5-flash-preview-thinking-128'), {
    input_per_million: 75_000,
    output_per_million: 625_000,
  });
  assert.deepEqual(priceIn('one-api', { ModelRatio: { other: 1 } }, 'deepseek-chat'), {
    input_per_million: 71_000,
    output_per_million: 142_000,
  });
  assert.deepEqual(priceIn('new-api', {}, 'dall-e-3'), {
    per_call: 20_000,
    input_per_million: 0,
    output_per_million: 0,
  });
  assert.equal(priceIn('new-api', { ModelPrice: {} }, 'dall-e-3'), undefined);
  assert.equal(priceIn('new-api', { ModelRatio: { other: 1 } }, 'gpt-4o'), undefined);
  assert.deepEqual(priceIn('new-api', { ModelPrice: {}, ModelRatio: { 'sora-2': 1 } }, 'sora-2', true), {
    per_second: 150_000,
    multipliers: { size: { '1792x1024': 1.666667, '1024x1792': 1.666667 } },
  });
  assert.deepEqual(priceIn('one-api', {}, 'nobody-knows-it'), {
    input_per_million: 30_000_000,
    output_per_million: 30_000_000,
  });
  assert.equal(priceIn('one-api', {}, 'dall-e-9'), undefined);
  assert.equal(priceIn('new-api', {}, 'nobody-knows-it'), undefined);
  assert.deepEqual(priceIn('new-api', { SelfUseModeEnabled: true }, 'nobody-knows-it'), {
    input_per_million: 37_500_000,
    output_per_million: 37_500_000,
  });
});
