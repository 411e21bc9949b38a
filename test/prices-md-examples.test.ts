import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { type CallFacts, type Price, priceCall, toTokenCallFacts } from '../src/contract/pricing.ts';
import { sumOfReceipt, toReceiptLines } from '../src/contract/request-log.ts';
import { parsePrice } from '../src/server/channels/model-admin.ts';
import { parseUsage } from '../src/server/chat/usage.ts';

const text = readFileSync(new URL('../docs/prices.md', import.meta.url), 'utf8');
const sectionOf = (title: string): string => text.split(`### ${title}\n`)[1]?.split(/^#/m)[0] ?? assert.fail(title);
/** All objects in backticks. */
const objectsOf = (section: string): unknown[] =>
  [...section.matchAll(/`(\{.*?\})`/g)].map(([, json = '']) => JSON.parse(json) as unknown);
const toNumber = (cell: string): number => Number(cell.replaceAll(',', ''));

/** The table of a section: label, quantity, quota each, factor and quota of each line. */
const linesOf = (section: string) =>
  [...section.matchAll(/^\| ([a-z_]+) \| ([\d.,]+) \| ([\d.,]+) \| ([\d.,]+) \| ([\d.,]+) \|$/gm)].map(
    ([, label = '', ...cells]) => [label, ...cells.map(toNumber)],
  );
const chargedOf = (section: string): number =>
  toNumber(/^\| charged \| \| \| \| ([\d,]+) \|$/m.exec(section)?.[1] ?? '');

function assertReceipt(section: string, price: Price, facts: CallFacts): void {
  const charged = chargedOf(section);
  assert.equal(priceCall(price, facts).quota, charged);
  const lines = toReceiptLines(price, facts, charged);
  const cells = lines.map((line) => [line.label, line.quantity, line.unit_quota, line.multiplier, line.quota]);
  assert.deepEqual(cells, linesOf(section));
  assert.equal(sumOfReceipt(lines), charged);
}

const call = sectionOf('A call, line by line');
const [callPrice, ...usages] = objectsOf(call);
const DIALECTS = [...call.matchAll(/^\| ((?:OpenAI|Anthropic|Google) \S[^|]*) \|/gm)].map(([, name = '']) => name);

it('docs/prices.md has a call of each dialect', () => {
  assert.equal(DIALECTS.length, 4);
  assert.equal(usages.length, DIALECTS.length);
  assert.ok(linesOf(call).length > 3);
});

for (const [index, dialect] of DIALECTS.entries())
  it(`docs/prices.md explains the cost of a ${dialect} call line by line`, () => {
    const usage = parseUsage(usages[index]);
    assert.ok(usage);
    assertReceipt(call, parsePrice(callPrice, 'chat'), toTokenCallFacts(usage, 0));
  });

const video = sectionOf('A video, line by line');

it('docs/prices.md explains the cost of a video line by line', () => {
  const [price, facts] = objectsOf(video);
  assert.ok(linesOf(video).length > 2);
  assertReceipt(video, parsePrice(price, 'video'), facts as CallFacts);
});

it('docs/prices.md explains charges by vendor-counted units', () => {
  const price = parsePrice(objectsOf(video)[2], 'video');
  const [, reserved = '', units = '', charged = '', back = ''] =
    /\(([\d,]+)\) are reserved for the same five seconds; if the vendor reports `([\d.]+)` units, ([\d,]+) are charged and ([\d,]+) released/.exec(
      video.replace(/\s+/g, ' '),
    ) ?? [];
  assert.equal(priceCall(price, { seconds: 5, units: 5 * 1.2 }).quota, toNumber(reserved));
  assert.equal(priceCall(price, { seconds: 5, units: Number(units) }).quota, toNumber(charged));
  assert.equal(toNumber(reserved) - toNumber(charged), toNumber(back));
});

it('docs/prices.md multiplies the price of a video the way it is charged', () => {
  const [, json = ''] = /times each applicable multiplier: `(\{.*?\})`/.exec(text) ?? [];
  const price = { per_second: 100, multipliers: JSON.parse(json) };
  assert.equal(priceCall(price, { seconds: 5, mode: 'pro', audio: 'true' }).quota, 5 * 100 * 2 * 1.5);
});
