import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import openapiTS, { astToString } from 'openapi-typescript';
import { API_KEY, BASE_URL, CHAT, VIDEO } from './service-key-and-model-names.ts';

/**
 * A client made by openapi-typescript from the service's own document: its types compile under the strictest settings, a call
 * with a wrong field does not, and what compiles works.
 */
const origin = new URL(BASE_URL).origin;
const folder = mkdtempSync(join(tmpdir(), 'reelgate-openapi-'));

const PROGRAM = `
import createClient from 'openapi-fetch';
import type { paths } from './schema.d.ts';

const headers = { authorization: 'Bearer ${API_KEY}' };
const client = createClient<paths>({ baseUrl: '${origin}', headers });

const made = await client.POST('/v1/videos', { body: { model: '${VIDEO}', prompt: 'a heron' } });
if (made.error !== undefined) throw new Error(JSON.stringify(made.error));
const id: string = 'id' in made.data ? made.data.id : made.data.task_id;
const found = await client.GET('/v1/videos/{task_id}', { params: { path: { task_id: id } } });
if (found.error !== undefined) throw new Error(JSON.stringify(found.error));
// Sora's own object is passed through, so that no field of it is promised but the first two.
const status: 'unknown' | 'queued' | 'in_progress' | 'completed' | 'failed' | 'cancelled' | undefined = found.data.status;
const progress: number | null | undefined = found.data.progress;

const missing = await client.GET('/v1/videos/{task_id}', { params: { path: { task_id: 'task_none' } } });
if (missing.data !== undefined) throw new Error('it is not there');
const models = await client.GET('/v1/models');
const names = (models.data !== undefined && 'data' in models.data ? models.data.data : []).map((model) => model.id);
const answer = await client.POST('/v1/chat/completions', {
  body: { model: '${CHAT}', messages: [{ role: 'user', content: '[chunks=2]' }] },
});
const plans = await client.GET('/api/package-cards');
const isListed: boolean | undefined = plans.data?.success;

console.log(JSON.stringify({ status, progress, names, answer: answer.data, code: missing.response.status, isListed }));
`;

/** Each has one error that the types must find. */
const WRONG = [
  "client.POST('/v1/videos', { body: { model: 1, prompt: 'x' } });",
  "client.GET('/v1/videos/{task_id}', { params: { path: { id: 'x' } } });",
  "client.GET('/v1/no-such-path');",
  "const status: number = (await client.GET('/v1/videos/{task_id}', { params: { path: { task_id: 'x' } } })).data!.status;",
];

const compile = (file: string): void => {
  const tsc = join(import.meta.dirname, 'node_modules', 'typescript', 'bin', 'tsc');
  const options =
    '--noEmit --strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess --target es2024 --module nodenext';
  const parameters = [tsc, ...options.split(' '), '--allowImportingTsExtensions', file];
  const { status, stdout } = spawnSync(process.execPath, parameters, { cwd: folder, encoding: 'utf8' });
  if (status !== 0) throw new Error(stdout);
};

try {
  symlinkSync(join(import.meta.dirname, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'schema.d.ts'), astToString(await openapiTS(new URL('/openapi.json', origin))));
  writeFileSync(join(folder, 'program.ts'), PROGRAM);
  compile('program.ts');
  const output = execFileSync(process.execPath, ['--no-warnings', 'program.ts'], { cwd: folder, encoding: 'utf8' });
  const { status, progress, names, answer, code, isListed } = JSON.parse(output);
  assert.match(status, /^(queued|in_progress|completed|unknown)$/);
  assert.equal(typeof progress, 'number');
  assert.ok(names.includes(CHAT));
  assert.equal(answer.choices[0].message.content, 'the light');
  assert.deepEqual([code, isListed], [400, true]);

  const head = PROGRAM.slice(0, PROGRAM.indexOf('const made'));
  for (const [index, line] of WRONG.entries()) {
    writeFileSync(join(folder, `wrong-${index}.ts`), head + line);
    assert.throws(() => compile(`wrong-${index}.ts`), `this must not compile: ${line}`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
