import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Value } from 'typebox/value';
import { type SandboxService, startSandboxService } from '../../../test/service-with-sandbox.ts';
import { DESCRIPTIONS_ZH_CN } from '../../contract/messages/descriptions-zh-cn.ts';
import { SUMMARIES_ZH_CN } from '../../contract/messages/summaries-zh-cn.ts';
import { schemaExample } from './openapi.ts';
import { GROUPS } from './reference-page.ts';

describe('the API reference', () => {
  let running: SandboxService;
  before(async () => {
    running = await startSandboxService('sqlite::memory:');
  });
  after(() => running.stop());

  const read = async (path: string) => {
    const response = await fetch(`${running.baseUrl}${path}`);
    return { status: response.status, headers: response.headers, text: await response.text() };
  };

  test('is OpenAPI 3.1 with one operation per route, each id once', async () => {
    const { status, text } = await read('/openapi.json');
    const document = JSON.parse(text) as {
      openapi: string;
      paths: Record<string, Record<string, { operationId: string }>>;
    };
    assert.equal(status, 200);
    assert.equal(document.openapi, '3.1.0');
    const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
    const documented = running.app.http.routes.endpoints.filter(({ isOtherSpelling }) => isOtherSpelling !== true);
    assert.equal(operations.length, documented.length);
    // Linters advise against trailing slashes; these two are part of the service's contract.
    const slashes = Object.keys(document.paths)
      .filter((path) => path !== '/' && path.endsWith('/'))
      .sort();
    assert.deepEqual(slashes, ['/api/notifications/', '/jimeng/']);
    const ids = operations.map(({ operationId }) => operationId);
    assert.equal(new Set(ids).size, ids.length);
    assert.ok(document.paths['/v1/videos/{task_id}/content']);
  });

  test('declares every parameter of every path, which generated clients and linters require', () => {
    for (const { method, path, params } of running.app.http.routes.endpoints) {
      const declared = Object.keys((params as { properties?: object } | undefined)?.properties ?? {});
      const named = [...path.matchAll(/:(\w+)/g)].map(([, name]) => String(name));
      assert.deepEqual(named.toSorted(), declared.toSorted(), `${method} ${path}`);
    }
  });

  test('limits every number a request may contain, because a database does not accept 1e308', () => {
    const unbounded = running.app.http.routes.endpoints.flatMap(({ method, path, body, query }) =>
      [body, query].flatMap((schema) => numbersIn(schema)).map((at) => `${method} ${path} ${at}`),
    );
    assert.deepEqual(unbounded, []);
  });

  test('is a page that loads nothing from other hosts and names every endpoint, videos first', async () => {
    const { headers, text } = await read('/docs');
    assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'.*script-src 'self'/);
    assert.deepEqual(text.match(/<script[^>]*>/g), ['<script src="/docs.js" defer>']);
    assert.doesNotMatch(text, /src="http|href="http| style=|\son\w+=/);
    for (const { path } of running.app.http.routes.endpoints) assert.ok(text.includes(path), path);
    const order = ['id="guide"', 'id="video"', 'id="chat"', 'id="accounts"', 'id="admin"'].map((at) =>
      text.indexOf(at),
    );
    assert.deepEqual(
      order.toSorted((a, b) => a - b),
      order,
    );
    // A model that this service lacks would make the first chat call of a reader fail.
    assert.match(
      text.slice(text.indexOf('id="guide"'), text.indexOf('id="video"')),
      /chat\/completions[\s\S]*YOUR_MODEL/,
    );
    assert.match((await read('/docs.js')).headers.get('content-type') ?? '', /javascript/);
  });

  test('lets a reader fill in the parameters of a path and of a query', async () => {
    const { text } = await read('/docs');
    const form = /<form[^>]*data-method="GET" data-path="\/v1\/videos\/:\w+"[\s\S]*?<\/form>/.exec(text)?.[0] ?? '';
    assert.match(form, /<input name="task_id" required>/);
    assert.match(form, /<input name="wait" data-query>/);
    assert.match((await read('/docs.js')).text, /\[data-query\]/);
  });

  test('is in the language of the reader or of the link', async () => {
    const chinese = await fetch(`${running.baseUrl}/docs`, { headers: { 'accept-language': 'zh-CN' } });
    assert.match(await chinese.text(), /<html lang="zh-CN">[\s\S]*生成视频/);
    assert.match((await read('/docs?lang=zh-CN')).text, /接口参考/);
    assert.match((await read('/docs?lang=xx')).text, /Start here/);
  });

  test('describes every endpoint in Chinese too', async () => {
    const documented = running.app.http.routes.endpoints.filter(({ isOtherSpelling }) => isOtherSpelling !== true);
    const summaries = new Set(documented.map(({ summary }) => summary));
    const missing = [...summaries].filter((summary) => SUMMARIES_ZH_CN[summary] === undefined);
    assert.deepEqual(missing, [], 'src/contract/messages/summaries-zh-cn.ts');
    const named = new Set<string>(GROUPS.map(([tag]) => tag));
    assert.deepEqual(
      [...new Set(documented.map(({ tag }) => tag))].filter((tag) => !named.has(tag)),
      [],
      'GROUPS',
    );
    const unused = Object.keys(SUMMARIES_ZH_CN).filter((summary) => !summaries.has(summary));
    assert.deepEqual(unused, [], 'of no endpoint');
    assert.match((await read('/docs?lang=zh-CN')).text, /提交视频（OpenAI 格式）/);
  });

  test('describes the members of every request in Chinese too', async () => {
    const documented = running.app.http.routes.endpoints.filter(({ isOtherSpelling }) => isOtherSpelling !== true);
    const members = documented
      .flatMap(({ params, query, body }) => [params, query, body] as { properties?: object }[])
      .flatMap((schema) => Object.values(schema?.properties ?? {}) as { description?: string }[]);
    const descriptions = new Set(members.flatMap(({ description }) => description ?? []));
    const missing = [...descriptions].filter((description) => DESCRIPTIONS_ZH_CN[description] === undefined);
    assert.deepEqual(missing, [], 'src/contract/messages/descriptions-zh-cn.ts');
    const unused = Object.keys(DESCRIPTIONS_ZH_CN).filter((description) => !descriptions.has(description));
    assert.deepEqual(unused, [], 'of no member');
    const { text } = await read('/docs?lang=zh-CN');
    assert.match(text, /秒数，最多 60。/);
    assert.doesNotMatch(text, /Seconds, at most 60\./);
  });

  test('is sent compressed, and so are the files for tools', async () => {
    for (const path of ['/docs', '/docs.md', '/openapi.json']) {
      const { headers } = await fetch(`${running.baseUrl}${path}`, { headers: { 'accept-encoding': 'gzip' } });
      assert.equal(headers.get('content-encoding'), 'gzip', path);
    }
  });

  test('gives each JSON body an example that its schema accepts', () => {
    const refused = running.app.http.routes.endpoints.flatMap(({ method, path, body, accepts }) =>
      body === undefined || accepts === 'upload' || Value.Check(body, schemaExample(body, true))
        ? []
        : [`${method} ${path} ${JSON.stringify(schemaExample(body, true))}`],
    );
    assert.deepEqual(refused, []);
  });

  test('gives each response an example that its schema accepts', () => {
    const refused = running.app.http.routes.endpoints.flatMap(({ method, path, response }) =>
      response === undefined || Value.Check(response, schemaExample(response, false)) ? [] : [`${method} ${path}`],
    );
    assert.deepEqual(refused, []);
  });

  test('has a Markdown version and a summary for language models', async () => {
    assert.match((await read('/docs.md')).text, /### POST \/v1\/videos/);
    assert.match((await read('/llms.txt')).text, /docs\.md/);
  });
});

/** Members of a schema that accept numbers without a limit, except constants. */
function numbersIn(schema: unknown, at = ''): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { type, maximum, const: constant } = schema as Record<string, unknown>;
  const isNumber = type === 'integer' || type === 'number';
  const own = isNumber && maximum === undefined && constant === undefined ? [at] : [];
  return [...own, ...Object.entries(schema).flatMap(([name, inner]) => numbersIn(inner, `${at}/${name}`))];
}
