import assert from 'node:assert/strict';
import { stripTypeScriptTypes } from 'node:module';
import { describe, it } from 'node:test';
import { runInNewContext } from 'node:vm';
import { instrument, SWITCH } from '../../mutation/instrument.ts';
import { chooseSample, findMutants } from '../../mutation/mutants.ts';
import { seededRandom } from '../seeded-random.ts';

const SAMPLE = `
const calls: string[] = [];
const step = (name: string): void => void calls.push(name);
function run(n: number, o?: { deep?: { of(x: number): number } }): unknown {
  calls.length = 0;
  if (n > 3) step('large');
  else step('small');
  const far = o?.deep?.of(n + 1);
  const table = { [n]: n === 2, 404: n !== 1 && !(n < 0) };
  for (let i = 0; i < n; i++) { step(i % 2 === 0 ? 'even' : 'odd'); }
  const { limit = 5 } = n > 1 ? { limit: Math.max(n, 2) } : {};
  let text = 'n' + n;
  if (n === 4) throw new Error(text);
  text += limit as number * 2;
  return [far, table, text, calls.join()];
}`;

const outcomeOf = (text: string, active: number): unknown => {
  const call = (context: string) =>
    runInNewContext(
      `${stripTypeScriptTypes(text)}; try { JSON.stringify(${context}) } catch (e) { 'threw ' + e.message }`,
      { [SWITCH]: (id: number) => id === active },
      { timeout: 300 },
    );
  return ['run(1)', 'run(2)', 'run(3, { deep: { of: (x) => x } })', 'run(4)', 'run(5, {})'].map((context) => {
    try {
      return call(context);
    } catch (error) {
      return (error as { code?: string }).code ?? 'not valid';
    }
  });
};

describe('mutants', () => {
  const mutants = findMutants('sample.ts', SAMPLE).map((mutant, id) => ({ ...mutant, id }));
  const text = instrument(SAMPLE, mutants);

  it('have no effect while switched off', () => {
    assert.deepEqual(outcomeOf(text, -1), outcomeOf(SAMPLE, -1));
  });

  it('behave like the changed text while switched on', () => {
    assert.ok(mutants.length > 30, `${mutants.length}`);
    let noticed = 0;
    for (const { id, start, end, replacement, original, line } of mutants) {
      const changed = outcomeOf(SAMPLE.slice(0, start) + replacement + SAMPLE.slice(end), -1);
      assert.deepEqual(outcomeOf(text, id), changed, `line ${line}: ${original} → ${replacement}`);
      if (JSON.stringify(changed) !== JSON.stringify(outcomeOf(SAMPLE, -1))) noticed += 1;
    }
    assert.ok(noticed > 25, `${noticed}`);
  });

  it('are sampled by a seed', () => {
    const all = Array.from({ length: 50 }, (_, index) => index);
    const one = chooseSample(all, 10, seededRandom(1));
    assert.deepEqual(one, chooseSample(all, 10, seededRandom(1)));
    assert.notDeepEqual(one, chooseSample(all, 10, seededRandom(2)));
    assert.equal(new Set(one).size, 10);
    assert.deepEqual(chooseSample(all, Number.POSITIVE_INFINITY, seededRandom(1)), all);
  });
});
