import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { LONG_FUNCTION_EXCEPTIONS } from './architecture/long-function-exceptions.ts';
import { rules } from './architecture/rules.ts';
import { readSourceFiles, type SourceFile, toSourceFile } from './architecture/source-files.ts';
import { functionsOf } from './architecture/source-functions.ts';

const root = join(import.meta.dirname, '..');
const files = readSourceFiles(root, ['src', 'importer', 'test', 'scripts', 'bench']);

for (const rule of rules) {
  test(rule.name, () => {
    const found = rule.find(files);
    assert.equal(found.length, 0, `${rule.why}\n  ${found.join('\n  ')}`);
  });
}

test('every listed reason for a long function is still needed', () => {
  const found = new Map(files.flatMap(functionsOf).map(({ id, lineCount }) => [id, lineCount]));
  for (const id of Object.keys(LONG_FUNCTION_EXCEPTIONS))
    assert.ok((found.get(id) ?? 0) > 80, `${id} has ${found.get(id) ?? 'no'} lines and needs no reason any more`);
});

test('the scanner finds every form of function', () => {
  const text = [
    'export async function declared(a: string): Promise<void> {',
    '  if (a) {',
    '  }',
    '}',
    'const arrow = (a: string) => {',
    '};',
    'export function ofManyLines(',
    '  a: string,',
    '): void {',
    '  b();',
    '}',
    'class A {',
    '  method(): void {',
    '  }',
    '  readonly #field = (): void => {',
    '  };',
    '}',
    'const object = {',
    '  async shorthand() {',
    '  },',
    '};',
  ].join('\n');
  assert.deepEqual(
    functionsOf({ path: 'a.ts', text }).map(({ id, line, lineCount }) => `${line} ${lineCount} ${id}`),
    [
      '1 4 a.ts#declared',
      '5 2 a.ts#arrow',
      '7 5 a.ts#ofManyLines',
      '13 2 a.ts#method',
      '15 2 a.ts##field',
      '19 2 a.ts#shorthand',
    ],
  );
});

test('the scanner reads every form of import', () => {
  const { imports } = toSourceFile(
    'src/server/quota/ledger-service.ts',
    [
      "import a from './a.ts';",
      "import type { B } from '../video/b.ts';",
      'import {',
      '  c,',
      '  type D,',
      "} from './c.ts';",
      "import * as e from '@fastify/cookie/x';",
      "import './f.ts';",
      "export { g } from './g.ts';",
      "export type { H } from './h.ts';",
      "export * from './i.ts';",
      "// import no from './comment.ts';",
      "/* import no from './comment.ts';",
      "import no from './comment.ts'; */",
      "const j = await import('./j.ts');",
      "let k: import('./k.ts').Kind;",
      "export const from = 'x';",
    ].join('\n'),
  );
  assert.deepEqual(
    imports.map((entry) => `${entry.line} ${entry.kind} ${entry.target}`),
    [
      '1 value src/server/quota/a.ts',
      '2 type src/server/video/b.ts',
      '3 value src/server/quota/c.ts',
      '7 value @fastify/cookie',
      '8 value src/server/quota/f.ts',
      '9 value src/server/quota/g.ts',
      '10 type src/server/quota/h.ts',
      '11 value src/server/quota/i.ts',
      '15 dynamic src/server/quota/j.ts',
      '16 type src/server/quota/k.ts',
    ],
  );
});

/** For each rule: files that break it and, where similar code is allowed, files that do not. */
const samples: Record<string, { bad: Record<string, string>; good?: Record<string, string> }> = {
  'contract imports TypeBox and itself': {
    bad: { 'src/contract/a.ts': "import { z } from '../server/app.ts';", 'src/contract/b.ts': "import 'node:fs';" },
    good: { 'src/contract/c.ts': "import { Type } from 'typebox';\nimport { a } from './a.ts';" },
  },
  'design imports itself': {
    bad: { 'src/design/site-css.ts': "import { ERRORS } from '../contract/errors.ts';" },
    good: { 'src/design/site-css.ts': "import { COLORS } from './tokens.ts';" },
  },
  'platform knows no capability': {
    bad: { 'src/server/platform/log.ts': "import type { User } from '../accounts/service.ts';" },
    good: { 'src/server/platform/db/db.ts': "import { log } from '../log.ts';\nimport { Kysely } from 'kysely';" },
  },
  'upstreams imports platform and the contract': {
    bad: {
      'src/server/upstreams/upstream.ts': "import type { Channel } from '../channels/channel-directory.ts';",
    },
    good: { 'src/server/upstreams/upstream.ts': "import type { Clock } from '../platform/clock.ts';" },
  },
  "a capability imports another's types only": {
    bad: { 'src/server/video/service.ts': "import { Quota } from '../quota/service.ts';" },
    good: {
      'src/server/video/service.ts':
        "import type { Quota } from '../quota/service.ts';\nimport { x } from './states.ts';\nimport { id } from '../platform/ids.ts';",
    },
  },
  'main.ts reads config, builds the app and listens': {
    bad: { 'src/server/main.ts': "import { Quota } from './quota/service.ts';" },
    good: { 'src/server/main.ts': "import { createApp } from './app.ts';" },
  },
  'a vendor adapter sees its interface, the contract, the outbound client and node:crypto': {
    bad: { 'src/server/vendors/kling/adapter.ts': "import { store } from '../../video/store.ts';" },
    good: {
      'src/server/vendors/kling/adapter.ts':
        "import { createHmac } from 'node:crypto';\nimport type { Vendor } from '../vendor.ts';",
    },
  },
  'below routes nobody knows HTTP': {
    bad: { 'src/server/quota/ledger-service.ts': "import type { FastifyInstance } from 'fastify';" },
    good: { 'src/server/quota/admin-routes.ts': "import type { FastifyInstance } from 'fastify';" },
  },
  'sdk imports the contract only': {
    bad: {
      'src/sdk/client.ts': "import { config } from '../server/platform/config.ts';",
      'src/sdk/b.ts': "import 'node:fs';",
    },
    good: { 'src/sdk/client.ts': "import { ERRORS } from '../contract/errors.ts';" },
  },
  'cli and console stand on the sdk': {
    bad: { 'src/cli/main.ts': "import { app } from '../server/app.ts';" },
    good: { 'src/cli/main.ts': "import { Client } from '../sdk/index.ts';\nimport { out } from './output.ts';" },
  },
  'console runs in a browser': {
    bad: { 'src/console/main.tsx': "import { readFile } from 'node:fs';" },
    good: { 'src/console/vite.config.ts': "import { resolve } from 'node:path';" },
  },
  'the server runs without the importer': {
    bad: {
      'src/server/app.ts': "import { buildImporter } from '../../importer/import.ts';",
      'src/server/platform/db/mysql.ts': "import type { Connection } from 'mysql2/promise';",
      'src/cli/program.ts': "await import('@reelgate/importer');",
    },
    good: { 'src/cli/commands/import.ts': "await import('@reelgate/importer');" },
  },
  'importer stands on the contract, platform and a few listed modules': {
    bad: { 'importer/import.ts': "import { makeApp } from '../src/server/app.ts';" },
    good: {
      'importer/import.ts':
        "import { VendorRegistry } from '../src/server/vendors/registry.ts';\nimport type { Tables } from '../src/server/tables.ts';",
    },
  },
  'sandbox imports nothing of the server': {
    bad: { 'src/sandbox/kling.ts': "import { sign } from '../server/vendors/kling/adapter.ts';" },
  },
  'no circle of imports, types included': {
    bad: {
      'src/sdk/a.ts': "import { b } from './b.ts';",
      'src/sdk/b.ts': "import { a } from './a.ts';",
      'src/console/c.tsx': "import { d } from './d.tsx';",
      'src/console/d.tsx': "import type { C } from './c.tsx';",
    },
    good: { 'src/sdk/a.ts': "import { b } from './b.ts';", 'src/sdk/b.ts': "import type { C } from './c.ts';" },
  },
  'no function above 80 lines without a reason': {
    bad: { 'src/sdk/long.ts': `function long() {\n${'  a();\n'.repeat(79)}}` },
    good: { 'src/sdk/long.ts': `function long() {\n${'  a();\n'.repeat(78)}}` },
  },
  'production never imports the sandbox': {
    bad: {
      'src/server/app.ts': "import { start } from '../sandbox/start.ts';",
      'src/server/video/service.ts': "await import('../../sandbox/start.ts');",
    },
    good: { 'src/server/sandbox-loader.ts': "if (config.sandbox) await import('../sandbox/start.ts');" },
  },
  'the query builder stays in its zone': {
    bad: {
      'src/server/quota/admin-routes.ts': "db.selectFrom('x');",
      'src/server/vendors/kling/adapter.ts': 'sql`select 1`;',
      'src/cli/commands/admin.ts': 'sql`select 1`;',
    },
    good: {
      'src/server/quota/ledger.ts': "db.selectFrom('x');",
      'src/server/video/task-store.ts': 'sql<number>`select 1`;',
    },
  },
  'one file of the server reads the environment': {
    bad: { 'src/server/app.ts': 'const port = process.env.PORT;' },
    good: { 'src/server/platform/config.ts': 'const port = process.env.PORT;' },
  },
  'requests leave through platform/outbound': {
    bad: { 'src/server/chat/relay.ts': 'await globalThis.fetch(url);' },
    good: { 'src/server/platform/outbound/client.ts': 'await globalThis.fetch(url);' },
  },
  'code for browsers takes random ids from contract/random-id.ts': {
    bad: {
      'src/console/pages/files/files-page.tsx': 'queue.begin(crypto.randomUUID(), file);',
      'src/sdk/videos.ts': 'const { randomUUID } = crypto;',
    },
    good: { 'src/server/batches/batch-runner.ts': "import { randomUUID } from 'node:crypto';" },
  },
  'the console formats times and numbers in data/format-*.ts': {
    bad: {
      'src/console/pages/costs/costs-page.tsx': 'new Intl.NumberFormat(language).format(count);',
      'src/console/pages/costs/day.ts': 'date.toLocaleDateString();',
    },
    good: { 'src/console/data/format-values.ts': 'new Intl.DateTimeFormat(language).format(date);' },
  },
  'the console joins texts with the punctuation of their language': {
    bad: {
      'src/console/pages/plan/a.tsx': "<Text>{t('wallet')}: <Credits /></Text>",
      'src/console/pages/plan/b.tsx': 'label={`$' + "{t('note')} ($" + "{t('app:optional')})`}",
      'src/console/pages/plan/c.tsx': "title={models.join(', ')}",
      'src/console/pages/plan/d.tsx': "{t('models', { count })}:",
    },
    good: { 'src/console/pages/plan/e.tsx': "<Text>{t('wallet') + formatColon()}{t(a)} {c}</Text>" },
  },
  'only platform/db asks which engine it is': {
    bad: {
      'src/server/quota/ledger.ts': "const rows = dialect === 'sqlite' ? a : b;",
      'src/server/chat/service.ts': "this.#isShared = database.dialect !== 'postgres';",
    },
    good: {
      'src/server/platform/db/sql.ts': "if (dialectOf(trx) === 'postgres') a();",
      'src/server/chat/service.ts': 'this.#isShared = !hasConcurrentWriters(database.kysely);',
    },
  },
  'conditional spreads become fewer, not more': {
    bad: { 'src/sdk/a.ts': 'f({ ...(a(b) === undefined ? {} : { a }), ...(b && { b }) });\n'.repeat(21) },
    good: { 'src/sdk/a.ts': 'f({ ...(a ?? {}), ...a(b && c) }, [...(a.map((b) => b && c))]);\n'.repeat(50) },
  },
  'files beside the code are named from two folders below the root': {
    bad: {
      'src/server/console/routes.ts': "join(import.meta.dirname, '../../../dist');",
      'src/sandbox/kling/media.ts': "readFileSync(new URL('./media.mp4', import.meta.url));",
    },
    good: {
      'src/server/package-root.ts': "join(import.meta.dirname, '../..');",
      'src/server/platform/db/postgres.ts': 'createRequire(import.meta.url);',
    },
  },
  'names say the subject': {
    bad: { 'src/server/platform/utils.ts': '', 'src/sdk/date-helpers.ts': '', 'src/common/x.ts': '' },
    good: { 'src/server/platform/clock.ts': '' },
  },
  'files are kebab-case': {
    bad: { 'src/console/pages/HomePage.tsx': '' },
    good: { 'src/console/pages/home-page.tsx': '' },
  },
  'file names have at most three words and 28 characters': {
    bad: {
      'src/server/chat/count-tokens-at-upstream.ts': '',
      'src/console/reconciliations-of-installations.tsx': '',
      'test/flows/plan-pays-for-videos.test.ts': '',
    },
    good: { 'src/server/chat/token-counter.test.ts': '', 'src/contract/messages/zh-cn.ts': '' },
  },
  'exported names have at most four words': {
    bad: {
      'src/server/quota/ledger.ts': 'export class ReservationAndLedgerEntryStore {}',
      'test/chat/start-chat.ts': 'export const startChatWithShortTimeLimits = 1;',
    },
    good: { 'src/server/quota/ledger.ts': 'export class ReservationStore {}\nconst itsOwnNameMayBeLong = 1;' },
  },
  'a file is named after its main export': {
    bad: {
      'src/server/quota/booking.ts': 'export class Ledger {}',
      'src/console/data/stub.ts': 'export const Type = {};',
      'src/cli/arguments.ts': 'export const parseId = 1;\nexport function parseSeed() {}',
    },
    good: {
      'src/server/quota/ledger.ts': 'export class Ledger {}\nexport interface Row {}',
      'src/server/chat/journal-recovery.ts': 'export async function recoverJournals() {}',
      'src/server/quota/module.ts': 'export function makeQuota() {}',
      'src/cli/argument-parsers.ts': 'export const parseId = 1;\nexport function parseSeed() {}',
      'src/sdk/index.ts': 'export class Reelgate {}',
    },
  },
  'no barrel but src/sdk/index.ts': {
    bad: { 'src/server/quota/index.ts': '', 'src/contract/all.ts': "export * from './errors.ts';" },
    good: { 'src/sdk/index.ts': "export * from './client.ts';" },
  },
  'src/server/app.ts has less than 220 lines': {
    bad: { 'src/server/app.ts': '\n'.repeat(220) },
    good: { 'src/server/app.ts': '\n'.repeat(219) },
  },
  'no file above 1,000 lines': {
    bad: { 'test/flows/long.test.ts': '\n'.repeat(1001), 'src/sdk/long.ts': '\n'.repeat(1001) },
    good: { 'src/sdk/long.ts': '\n'.repeat(1000) },
  },
};

const toFiles = (texts: Record<string, string>): SourceFile[] =>
  Object.entries(texts).map(([path, text]) => toSourceFile(path, text));

for (const rule of rules) {
  test(`catches: ${rule.name}`, () => {
    const sample = samples[rule.name];
    assert.ok(sample, 'a rule without a sample is not known to catch anything');
    const found = rule.find(toFiles(sample.bad)).join('\n');
    for (const path of Object.keys(sample.bad)) assert.ok(found.includes(path), `${path} was not caught`);
    assert.deepEqual(rule.find(toFiles(sample.good ?? {})), []);
  });
}
