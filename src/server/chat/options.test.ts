import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { UntrustedObject } from '../../contract/objects.ts';
import { isAppError } from '../platform/app-error.ts';
import {
  ANTHROPIC_MESSAGES_DIALECT,
  CHAT_DIALECT,
  type Dialect,
  GEMINI_DIALECT,
  RESPONSES_DIALECT,
} from './dialects.ts';
import { findGovernedOptions } from './options.ts';

const NO_MEDIA = { mediaLength: 0, imageCount: 0, itemReferences: 0, fileIds: 0 };
const DIALECTS = [CHAT_DIALECT, RESPONSES_DIALECT, ANTHROPIC_MESSAGES_DIALECT, GEMINI_DIALECT];

const TOP_LEVEL = [
  ...['models', 'fallbacks', 'route', 'provider', 'api_base', 'base_url', 'extra_body', 'webhook_url', 'callbacks'],
  ...['previous_response_id', 'conversation', 'thread_id', 'cached_content', 'web_search_options', 'enable_search'],
  ...['code_interpreter', 'file_search', 'mcp_servers', 'container', 'plugins', 'speed', 'service_tier', 'best_of'],
  ...['num_return_sequences', 'max_length', 'num_predict', 'vertex_location', 'search_engine', 'proxy_host'],
];
const TOOLS = [
  ...['mcp', 'mcp_toolset', 'web_search', 'web_search_preview', 'web_fetch', 'code_execution', 'code_interpreter'],
  ...['file_search', 'image_generation', 'google_search', 'url_context', 'google_maps', 'retrieval', 'advisor'],
];
/** Members in which a request may contain a tool at any depth; none of them holds the caller's own data. */
const CONTAINERS = ['input', 'output', 'item', 'results', 'tools', 'Tools', 'tOOLS', 'namespace', 'content', 'extra'];

/**
 * Every spelling that some JSON parser treats as this name: any
 * case, and other or no separators where capitals start words.
 */
const spellingsOf = (name: string): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.array(fc.boolean(), { minLength: name.length, maxLength: name.length }),
      fc.constantFrom('_', '-', '.', 'camel'),
    )
    .map(([capitals, separator]) => {
      const cased = [...name].map((letter, index) => (capitals[index] ? letter.toUpperCase() : letter)).join('');
      return separator === 'camel'
        ? name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
        : cased.replaceAll('_', separator);
    });

/** Whether the rules refuse, drop or price the option: any rule except `pass`. */
function isGoverned(dialect: Dialect, body: UntrustedObject): boolean {
  try {
    return findGovernedOptions(dialect, body, NO_MEDIA).some(({ name, rule }) => name !== '*' && rule !== 'pass');
  } catch (error) {
    assert.ok(isAppError(error), String(error));
    return true;
  }
}

test('no spelling of a governed option reaches the upstream unpriced', () => {
  const options = fc.constantFrom(...TOP_LEVEL).chain((name) => spellingsOf(name).map((key) => ({ name, key })));
  const values = fc.constantFrom<unknown>('another', { id: 'x' }, ['x'], 7);
  fc.assert(
    fc.property(fc.constantFrom(...DIALECTS), options, values, (dialect, { name, key }, value) => {
      fc.pre(!dialect.maxTokensKeys.includes(key) && !(name === 'route' && value === 7));
      assert.ok(isGoverned(dialect, { model: 'm', [key]: value }), `${dialect.promptKey}: ${key}`);
    }),
    { numRuns: 3_000 },
  );
});

test('no nesting and no spelling hides a tool that the upstream runs and bills', () => {
  const types = fc
    .constantFrom(...TOOLS)
    .chain((name) =>
      fc
        .tuple(spellingsOf(name), fc.constantFrom('', '_20250305', '-2025-03-11'), fc.constantFrom('', 'openrouter:'))
        .map(([type, date, vendor]) => vendor + type + date),
    );
  const steps = fc.array(fc.oneof(fc.constantFrom(...CONTAINERS), fc.constant(0)), { minLength: 1, maxLength: 6 });
  const listed = fc.boolean();
  const shapes = fc.tuple(types, steps, listed, fc.boolean());
  fc.assert(
    fc.property(fc.constantFrom(...DIALECTS), shapes, (dialect, [type, path, isListed, isMember]) => {
      // Google's tools are members of an object in `tools`; those of the others have a type.
      const asMember = dialect === GEMINI_DIALECT || (isMember && isListed);
      const name = type.replace(/^openrouter:/, '').replace(/[-_]2025.*$/, '');
      const tool: UntrustedObject = asMember ? { [name]: {} } : { type, server_url: 'https://mcp.example' };
      const inList: unknown = isListed || asMember ? { tools: isMember ? tool : [tool] } : tool;
      const nested = path.reduceRight<unknown>((inner, step) => (step === 0 ? [inner] : { [step]: inner }), inList);
      const body = { model: 'm', input: 'hi', body: nested };
      assert.ok(isGoverned(dialect, body), `${dialect.promptKey}: ${JSON.stringify(body)}`);
    }),
    { numRuns: 5_000 },
  );
});
