import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { translateDetail } from './details-zh-cn.ts';
import { NOUNS } from './zh-cn.ts';

const SERVER = join(import.meta.dirname, '../../server');
const sources = globSync('**/*.ts', { cwd: SERVER })
  .filter((path) => !path.endsWith('.test.ts'))
  .map((path) => ({ path, text: readFileSync(join(SERVER, path), 'utf8') }));

/** Content of a string literal in any kind of quotes; `fill` replaces its placeholders with a number. */
const LITERAL = `(['"\`])((?:(?!\\1)[^\\\\]|\\\\.)*)\\1`;
const fill = (text: string): string => text.replace(/\\(.)/g, '$1').replace(/\$\{[^}]*\}/g, '7');

const FIRST_ARGUMENT = "(?:'[^']*'|`[^`]*`|[\\w.()]+),\\s*";

/** Every validation message about a field that the server's code contains as one literal. */
function* sentences(): Generator<{ path: string; sentence: string }> {
  for (const { path, text } of sources) {
    // Messages assembled from parts are skipped here; the parts are collected below.
    for (const [, , said = ''] of text.matchAll(new RegExp(`\\binvalidRequest\\(\\s*${LITERAL}`, 'g')))
      if (!said.includes('${at ===') && !/^(?:\w+|\$\{path\}) \$\{why\}\.$/.test(said))
        yield { path, sentence: fill(said) };
    for (const [, , why = ''] of text.matchAll(new RegExp(`\\brejectField\\(\\s*${FIRST_ARGUMENT}${LITERAL}`, 'g')))
      yield { path, sentence: `size ${fill(why)}.` };
    if (path.endsWith('chat/option-rules.ts'))
      for (const [, why = ''] of text.matchAll(/^const [A-Z_]+ = '([a-z][^']*)';$/gm))
        yield { path, sentence: `x ${why}.` };
    if (path.endsWith('upstreams/adapter-context.ts'))
      for (const [, , why = ''] of text.matchAll(new RegExp(`\\brefuse\\(\\s*${LITERAL}`, 'g')))
        yield { path, sentence: `The image at the given address ${fill(why)}.` };
  }
}

it('translates every validation message of the server into Chinese', () => {
  const all = [...sentences()];
  assert.ok(all.length > 120, `${all.length} sentences were found`);
  for (const { path, sentence } of all) {
    const chinese = translateDetail(sentence);
    assert.match(
      chinese,
      /\p{Script=Han}.*。$/u,
      `${path} says "${sentence}": say it in validation-details-zh-cn.ts too`,
    );
    assert.doesNotMatch(
      chinese,
      /\b(must|cannot|is|are|not|than)\b/,
      `${path} says "${sentence}": say it in validation-details-zh-cn.ts too`,
    );
  }
});

it('keeps inserted values in their position', () => {
  const told = {
    'duration must be 4, 6 or 8 for veo-3.1.': 'duration 须为 4、6 或 8（veo-3.1）。',
    'The model viduq2 is of the vendor vidu, not kling.': '模型 viduq2 属于供应商 vidu，而非 kling。',
    'client_id is required': 'client_id 不能为空。',
    'image is larger than 20 MB.': 'image 超过 20 MB。',
  };
  for (const [english, chinese] of Object.entries(told)) assert.equal(translateDetail(english), chinese);
});

it('returns text of other origin unchanged, at any length', () => {
  for (const text of ['', 'Prompt violates the policy', `${'x must be '.repeat(10_000)}y`, '$1 $& #', '画面不合规'])
    assert.equal(translateDetail(text), text);
  const slow = `${'a must be one to '.repeat(17)}z`;
  const startedAt = performance.now();
  translateDetail(slow);
  assert.ok(performance.now() - startedAt < 1_000);
});

it('translates the nouns of every “not found”, “exists already” and “in use” message', () => {
  const named = sources.flatMap(({ text }) =>
    [...text.matchAll(/(?:notExistError\(|what: )'([^']+)'/g)].map(([, name = '']) => name),
  );
  assert.ok(named.length > 20);
  assert.deepEqual(
    [...new Set(named)].filter((name) => NOUNS[name] === undefined),
    [],
  );
});
