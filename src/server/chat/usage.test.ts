import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { countTokens, parseUsage, UsageTotals } from './usage.ts';

/** Tokens of one call, each counted once: the meaning of an upstream's figures, whatever their format. */
interface Truth {
  readonly text: number;
  readonly cached: number;
  readonly write: number;
  readonly write1h: number;
  readonly audio: number;
  readonly image: number;
  readonly shown: number;
  readonly reasoning: number;
  readonly audioOutput: number;
  readonly imageOutput: number;
}

const inputOf = ({ text, cached, write, write1h, audio, image }: Truth): number =>
  text + cached + write + write1h + audio + image;
const outputOf = ({ shown, reasoning, audioOutput, imageOutput }: Truth): number =>
  shown + reasoning + audioOutput + imageOutput;

interface Spelling {
  /** Figures this upstream can report; the others are zero. */
  readonly tells: readonly (keyof Truth)[];
  readonly write: (truth: Truth) => object;
}

const chatTotals = (truth: Truth) => ({
  prompt_tokens: inputOf(truth),
  completion_tokens: outputOf(truth),
  total_tokens: inputOf(truth) + outputOf(truth),
});
const TEXT = ['text', 'shown'] as const;

const SPELLINGS: Readonly<Record<string, Spelling>> = {
  'OpenAI chat': {
    tells: [...TEXT, 'cached', 'audio', 'reasoning', 'audioOutput'],
    write: (truth) => ({
      ...chatTotals(truth),
      prompt_tokens_details: { cached_tokens: truth.cached, audio_tokens: truth.audio },
      completion_tokens_details: {
        reasoning_tokens: truth.reasoning,
        audio_tokens: truth.audioOutput,
        accepted_prediction_tokens: 0,
      },
    }),
  },
  'OpenAI responses': {
    tells: [...TEXT, 'cached', 'reasoning'],
    write: (truth) => ({
      input_tokens: inputOf(truth),
      input_tokens_details: { cached_tokens: truth.cached },
      output_tokens: outputOf(truth),
      output_tokens_details: { reasoning_tokens: truth.reasoning },
      total_tokens: inputOf(truth) + outputOf(truth),
    }),
  },
  'OpenAI images': {
    tells: [...TEXT, 'image', 'imageOutput'],
    write: (truth) => ({
      input_tokens: inputOf(truth),
      input_tokens_details: { text_tokens: truth.text, image_tokens: truth.image },
      output_tokens: outputOf(truth),
      output_tokens_details: { text_tokens: truth.shown, image_tokens: truth.imageOutput },
      total_tokens: inputOf(truth) + outputOf(truth),
    }),
  },
  OpenRouter: {
    tells: [...TEXT, 'cached', 'write', 'audio', 'reasoning', 'imageOutput'],
    write: (truth) => ({
      ...chatTotals(truth),
      cost: 0.00123,
      prompt_tokens_details: {
        cached_tokens: truth.cached,
        cache_write_tokens: truth.write,
        audio_tokens: truth.audio,
        video_tokens: 0,
      },
      completion_tokens_details: { reasoning_tokens: truth.reasoning, image_tokens: truth.imageOutput },
    }),
  },
  DeepSeek: {
    tells: [...TEXT, 'cached', 'reasoning'],
    write: (truth) => ({
      ...chatTotals(truth),
      prompt_cache_hit_tokens: truth.cached,
      prompt_cache_miss_tokens: inputOf(truth) - truth.cached,
      completion_tokens_details: { reasoning_tokens: truth.reasoning },
    }),
  },
  Moonshot: {
    tells: [...TEXT, 'cached'],
    write: (truth) => ({ ...chatTotals(truth), cached_tokens: truth.cached }),
  },
  DashScope: {
    tells: [...TEXT, 'cached', 'write', 'image', 'audio'],
    write: (truth) => ({
      ...chatTotals(truth),
      prompt_tokens_details: {
        cached_tokens: truth.cached,
        cache_creation: { ephemeral_5m_input_tokens: truth.write },
        cache_creation_input_tokens: truth.write,
        image_tokens: truth.image,
        audio_tokens: truth.audio,
        text_tokens: truth.text,
      },
    }),
  },
  Volcengine: {
    tells: [...TEXT, 'cached', 'reasoning'],
    write: (truth) => ({
      ...chatTotals(truth),
      prompt_tokens_details: { cached_tokens: truth.cached },
      completion_tokens_details: { reasoning_tokens: truth.reasoning },
    }),
  },
  vLLM: { tells: TEXT, write: (truth) => ({ ...chatTotals(truth), prompt_tokens_details: null }) },
  // vercel/ai #14382
  Mistral: {
    tells: [...TEXT, 'cached'],
    write: (truth) => ({ ...chatTotals(truth), num_cached_tokens: truth.cached }),
  },
  'Mistral, in details': {
    tells: [...TEXT, 'cached'],
    write: (truth) => ({ ...chatTotals(truth), prompt_token_details: { cached_tokens: truth.cached } }),
  },
  'new-api in front of Anthropic': {
    tells: [...TEXT, 'cached', 'write', 'write1h'],
    write: (truth) => ({
      ...chatTotals(truth),
      prompt_tokens_details: {
        cached_tokens: truth.cached,
        cached_creation_tokens: truth.write + truth.write1h,
        text_tokens: 0,
      },
      claude_cache_creation_5_m_tokens: truth.write,
      claude_cache_creation_1_h_tokens: truth.write1h,
    }),
  },
  'xAI, thinking in the total alone': {
    tells: [...TEXT, 'cached', 'reasoning'],
    write: (truth) => ({
      ...chatTotals(truth),
      completion_tokens: truth.shown,
      prompt_tokens_details: { cached_tokens: truth.cached },
    }),
  },
  Anthropic: {
    tells: [...TEXT, 'cached', 'write', 'write1h'],
    write: (truth) => ({
      input_tokens: truth.text,
      cache_read_input_tokens: truth.cached,
      cache_creation_input_tokens: truth.write + truth.write1h,
      cache_creation: { ephemeral_5m_input_tokens: truth.write, ephemeral_1h_input_tokens: truth.write1h },
      output_tokens: outputOf(truth),
      service_tier: 'standard',
    }),
  },
  "a gateway before Anthropic, with OpenAI's totals": {
    tells: [...TEXT, 'cached', 'write'],
    write: (truth) => ({
      ...chatTotals(truth),
      cache_read_input_tokens: truth.cached,
      cache_creation_input_tokens: truth.write,
      prompt_tokens_details: { cached_tokens: truth.cached },
    }),
  },
  Gemini: {
    tells: [...TEXT, 'cached', 'audio', 'image', 'reasoning', 'audioOutput', 'imageOutput'],
    write: (truth) => ({
      promptTokenCount: inputOf(truth),
      cachedContentTokenCount: truth.cached,
      candidatesTokenCount: truth.shown + truth.audioOutput + truth.imageOutput,
      thoughtsTokenCount: truth.reasoning,
      totalTokenCount: inputOf(truth) + outputOf(truth),
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: truth.text + truth.cached },
        { modality: 'AUDIO', tokenCount: truth.audio },
        { modality: 'IMAGE', tokenCount: truth.image },
      ],
      cacheTokensDetails: [{ modality: 'TEXT', tokenCount: truth.cached }],
      candidatesTokensDetails: [
        { modality: 'TEXT', tokenCount: truth.shown },
        { modality: 'AUDIO', tokenCount: truth.audioOutput },
        { modality: 'IMAGE', tokenCount: truth.imageOutput },
      ],
    }),
  },
};

/** Park and Miller's generator, so that a failure can be reproduced. */
function makeRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 48_271) % 0x7fffffff;
    return state % below;
  };
}

const RECORDS_EACH = Math.ceil(100_000 / Object.keys(SPELLINGS).length);
const NAMES = [
  'text',
  'cached',
  'write',
  'write1h',
  'audio',
  'image',
  'shown',
  'reasoning',
  'audioOutput',
  'imageOutput',
] as const;

describe('upstream usage', () => {
  for (const [name, { tells, write }] of Object.entries(SPELLINGS))
    it(`${name}: counts every token once, in ${RECORDS_EACH} generated records`, () => {
      const random = makeRandom(20_261_122);
      for (let n = 0; n < RECORDS_EACH; n++) {
        const amount = (figure: keyof Truth): number => (tells.includes(figure) && random(4) > 0 ? random(200_000) : 0);
        const truth = Object.fromEntries(NAMES.map((figure) => [figure, amount(figure)])) as unknown as Truth;
        const usage = parseUsage(JSON.parse(JSON.stringify(write(truth))));
        const parts = usage?.parts;
        assert.deepEqual(
          {
            text: (usage?.promptTokens ?? 0) - truth.cached - truth.write - truth.write1h - truth.audio - truth.image,
            cached: parts?.cached_input ?? 0,
            write: parts?.cache_write ?? 0,
            write1h: parts?.cache_write_1h ?? 0,
            audio: parts?.audio_input ?? 0,
            image: parts?.image_input ?? 0,
            output: usage?.completionTokens,
            audioOutput: parts?.audio_output ?? 0,
            imageOutput: parts?.image_output ?? 0,
          },
          {
            text: truth.text,
            cached: truth.cached,
            write: truth.write,
            write1h: truth.write1h,
            audio: truth.audio,
            image: truth.image,
            output: outputOf(truth),
            audioOutput: truth.audioOutput,
            imageOutput: truth.imageOutput,
          },
          JSON.stringify(write(truth)),
        );
        if (tells.includes('reasoning')) assert.equal(usage?.reasoningTokens, truth.reasoning);
      }
    });

  // Portkey-AI/gateway #1210, BerriAI/litellm #15270: gateways in front of Bedrock.
  it('recognises by the total that a gateway leaves cached tokens out of the input', () => {
    const read = (usage: object) => {
      const { promptTokens, completionTokens, parts } = parseUsage(usage) ?? {};
      return [promptTokens, completionTokens, parts?.cached_input, parts?.cache_write];
    };
    const cached = (tokens: number) => ({ prompt_tokens_details: { cached_tokens: tokens } });
    const totals = (prompt_tokens: number, completion_tokens: number, total_tokens: number) => ({
      prompt_tokens,
      completion_tokens,
      total_tokens,
    });
    assert.deepEqual(read({ ...totals(10, 5, 5_015), ...cached(5_000) }), [5_010, 5, 5_000, 0]);
    assert.deepEqual(read({ ...totals(1_000, 100, 1_600), ...cached(500) }), [1_500, 100, 500, 0]);
    const writes = { cache_creation_input_tokens: 400 };
    assert.deepEqual(read({ ...totals(1_000, 100, 1_500), ...cached(600), ...writes }), [1_400, 100, 600, 400]);
    assert.deepEqual(read({ ...totals(1_000, 100, 2_100), ...cached(600), ...writes }), [2_000, 100, 600, 400]);
    const reasoning = { completion_tokens_details: { reasoning_tokens: 500 } };
    assert.deepEqual(read({ ...totals(1_000, 100, 1_600), ...cached(500), ...reasoning }), [1_000, 600, 500, 0]);
  });

  // decolua/9router #2658
  it('recognises by a read that is larger than the input that a gateway repeats the input of Anthropic', () => {
    for (const names of [
      { prompt_tokens: 6, completion_tokens: 5 },
      { input_tokens: 6, output_tokens: 5 },
    ]) {
      const usage = parseUsage({
        ...names,
        cache_read_input_tokens: 5_000,
        cache_creation_input_tokens: 400,
        total_tokens: 11,
      });
      assert.deepEqual(
        [usage?.promptTokens, usage?.completionTokens, usage?.parts?.cached_input, usage?.parts?.cache_write],
        [5_406, 5, 5_000, 400],
      );
    }
  });

  // simonw/llm-gemini #75
  it('recognises by the total that thinking is counted among the candidates', () => {
    const usage = { promptTokenCount: 10, candidatesTokenCount: 105, thoughtsTokenCount: 100 };
    assert.equal(parseUsage({ ...usage, totalTokenCount: 115 })?.completionTokens, 105);
    assert.equal(parseUsage({ ...usage, totalTokenCount: 215 })?.completionTokens, 205);
  });

  it('counts input once that a stream reports first as a whole and then in parts', () => {
    // maximhq/bifrost #5354, #6378: with the cached part in the first event or not, or with nothing left in the last.
    for (const [first, last, cached] of [
      [
        { input_tokens: 8_849, cache_read_input_tokens: 0 },
        { input_tokens: 29, cache_read_input_tokens: 8_820 },
        8_820,
      ],
      [
        { input_tokens: 8_849, cache_read_input_tokens: 8_820 },
        { input_tokens: 29, cache_read_input_tokens: 8_820 },
        8_820,
      ],
      [{ input_tokens: 8_849 }, { input_tokens: 0, cache_read_input_tokens: 8_849 }, 8_849],
    ] as const) {
      const totals = new UsageTotals();
      totals.add(first);
      totals.add({ ...last, output_tokens: 5 });
      const { usage } = totals;
      assert.deepEqual([usage?.promptTokens, usage?.completionTokens, usage?.parts?.cached_input], [8_849, 5, cached]);
    }
  });

  it('reads the figures of the names that are used, where an upstream writes zeros under the others', () => {
    const zeros = { prompt_tokens: 0, completion_tokens: 0 };
    const usage = parseUsage({ ...zeros, input_tokens: 1_000, output_tokens: 100, total_tokens: 1_100 });
    assert.deepEqual([usage?.promptTokens, usage?.completionTokens], [1_000, 100]);
    const others = parseUsage({ prompt_tokens: 1_000, completion_tokens: 100, input_tokens: 0, output_tokens: 0 });
    assert.deepEqual([others?.promptTokens, others?.completionTokens], [1_000, 100]);
  });

  it('never has parts larger than the whole, whatever an upstream reports', () => {
    const usage = parseUsage({
      prompt_tokens: 100,
      completion_tokens: 3,
      prompt_tokens_details: { cached_tokens: 90, cache_write_tokens: 90, audio_tokens: 90, image_tokens: 1e12 },
      completion_tokens_details: { audio_tokens: 2, image_tokens: 90, reasoning_tokens: -1 },
    });
    assert.deepEqual(usage, {
      promptTokens: 100,
      completionTokens: 3,
      reasoningTokens: 0,
      parts: {
        cached_input: 90,
        cache_write_1h: 0,
        cache_write: 10,
        audio_input: 0,
        image_input: 0,
        audio_output: 2,
        image_output: 1,
      },
    });
    const details = { audio_tokens: 90, image_tokens: 90 };
    const audio = parseUsage({ prompt_tokens: 1, completion_tokens: 3, completion_tokens_details: details });
    assert.deepEqual([audio?.parts?.audio_output, audio?.parts?.image_output], [3, 0]);
  });

  it('counts cached audio and images as cached, where the upstream reports which input was cached', () => {
    const usage = parseUsage({
      promptTokenCount: 100,
      cachedContentTokenCount: 60,
      candidatesTokenCount: 1,
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: 20 },
        { modality: 'AUDIO', tokenCount: 80 },
      ],
      cacheTokensDetails: [{ modality: 'AUDIO', tokenCount: 60 }],
    });
    assert.deepEqual([usage?.parts?.cached_input, usage?.parts?.audio_input], [60, 20]);
  });

  it('is undefined without a credible total', () => {
    for (const usage of [undefined, null, [], {}, { prompt_tokens: -1 }, { prompt_tokens: 1.5 }, { input_tokens: 1e9 }])
      assert.equal(parseUsage(usage), undefined);
  });
});

test("counts like the models' tokenizer", async () => {
  for (const [text, tokens] of [
    ['', 0],
    ['hello world', 2],
    ['<|endoftext|>', 7],
    ['\ud800', 1],
  ] as const)
    assert.ok(Math.abs((await countTokens(text)) - tokens) <= 2, text);
  assert.equal(await countTokens(' the light of day'.repeat(1_000)), 4_000);
  // Longer than the counted length, so the count is sampled.
  const long = await countTokens(' the light of day'.repeat(20_000));
  assert.ok(Math.abs(long - 80_000) < 100, String(long));
});

test('texts crafted to be slow to tokenize do not block other requests', async () => {
  await countTokens('warm');
  const letters = (length: number, from: number, span: number): string =>
    Array.from({ length }, (_, index) => String.fromCodePoint(from + ((index * 7_919) % span))).join('');
  for (const text of [
    letters(500_000, 0x4e00, 20_000),
    letters(500_000, 0x61, 26),
    '👩‍👩‍👧'.repeat(60_000),
    'a'.repeat(500_000),
    ' '.repeat(500_000),
    '\n'.repeat(500_000),
  ]) {
    let longest = 0;
    let last = performance.now();
    const watch = setInterval(() => {
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }, 1);
    assert.ok((await countTokens(text)) > 0);
    clearInterval(watch);
    assert.ok(longest < 1_500, `${text.slice(0, 4)}: ${longest} ms`);
  }
});

test('reasoning beyond the output is part of it only if the total leaves no other reading', () => {
  const usage = { prompt_tokens: 10, completion_tokens: 5, completion_tokens_details: { reasoning_tokens: 50 } };
  assert.deepEqual(parseUsage(usage), { promptTokens: 10, completionTokens: 55, reasoningTokens: 50 });
  const withTotal = parseUsage({ ...usage, total_tokens: 15 });
  assert.deepEqual(withTotal, { promptTokens: 10, completionTokens: 5, reasoningTokens: 5 });
  const beyond = parseUsage({ ...usage, total_tokens: 65 });
  assert.deepEqual(beyond, { promptTokens: 10, completionTokens: 55, reasoningTokens: 50 });
});
