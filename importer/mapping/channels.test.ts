import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { ChannelVendor } from '../../src/server/channels/tables.ts';
import type { ProgramName, SourceRow } from '../source.ts';
import { channelTypeOf, mapChannel } from './channels.ts';

const ROW = { id: '1', key: 'secret-key', status: '1', name: 'c', models: 'some-model', base_url: '' };
const map = (row: SourceRow, program: ProgramName = 'new-api') =>
  mapChannel({ ...ROW, ...row }, program, (name): name is ChannelVendor => name !== '');
const channelOf = (row: SourceRow, program?: ProgramName) => {
  const outcome = map(row, program);
  assert.equal(outcome.kind, 'mapped', JSON.stringify(outcome));
  return outcome.kind === 'mapped' ? { channel: outcome.value[0], remarks: outcome.remarks } : undefined;
};

it('sends the key of a channel without an address to its type, never to another vendor', () => {
  assert.equal(channelOf({ type: '20' })?.channel?.baseUrl, 'https://openrouter.ai/api');
  assert.equal(channelOf({ type: '4' }, 'one-api')?.channel?.baseUrl, 'https://api.closeai-proxy.xyz');
  for (const program of ['new-api', 'one-api'] as const)
    for (let number = 0; number < 64; number++) {
      const type = channelTypeOf(program, number);
      if (type?.chat !== 'openai') continue;
      const outcome = map({ type: String(number) }, program);
      if (outcome.kind === 'skipped') assert.match(outcome.reason, /has no address/);
      else assert.equal(/api\.openai\.com/.test(outcome.value[0]?.baseUrl ?? ''), number === 1, type.title);
      assert.equal(
        channelOf({ type: String(number), base_url: 'https://example.com' }, program)?.channel?.baseUrl,
        'https://example.com',
      );
    }
  assert.deepEqual(map({ type: '8' }), {
    kind: 'skipped',
    reason: 'the channel has no address, and Custom has no usual one',
  });
});

it('keeps the organization that pays for the calls of OpenAI', () => {
  const row = { open_ai_organization: 'org-1', header_override: '{"X-Team":"red"}' };
  assert.deepEqual(channelOf({ ...row, type: '1' })?.channel?.extraHeaders, {
    'OpenAI-Organization': 'org-1',
    'X-Team': 'red',
  });
  assert.deepEqual(channelOf({ ...row, type: '20' })?.channel?.extraHeaders, { 'X-Team': 'red' });
});

it('counts empty lines when it reads the states of keys', () => {
  const row = { type: '1', key: 'key-one\n\nkey-two\r\nkey-three' };
  const info = { is_multi_key: true, multi_key_status_list: { 2: 2 } };
  const found = channelOf({ ...row, channel_info: JSON.stringify(info) })?.channel?.credentials;
  assert.deepEqual(
    found?.map(({ values, enabled }) => [values.api_key, enabled]),
    [
      ['key-one', true],
      ['key-two', false],
      ['key-three', true],
    ],
  );
});

it('lists settings without a counterpart by name', () => {
  const setting = JSON.stringify({ proxy: '', pass_through_body_enabled: true, force_format: true });
  const settings = JSON.stringify({ azure_responses_version: 'v', disable_store: false });
  assert.deepEqual(channelOf({ type: '1', setting, settings, model_prefix: 'fast-' })?.remarks, [
    'not carried over: the prefix of its models, which have their plain names here',
    'not carried over: the conversion of its answers',
    'not carried over, settings of the channel: pass_through_body_enabled, azure_responses_version',
  ]);
});

it('omits deleted channels', () => {
  const reason = 'the channel was deleted there';
  assert.deepEqual(map({ type: '1', deleted_at: '2025-01-01 00:00:00' }), { kind: 'skipped', reason });
});

it('names the models, the mapping and the headers that it leaves out', () => {
  const models = ['ok', '豆包', '@cf/meta/llama', 'two words', ...Array.from({ length: 501 }, (_, at) => `m${at}`)];
  assert.deepEqual(channelOf({ type: '1', models: models.join(',') })?.remarks, [
    'models left out, whose names cannot be used here: 豆包, @cf/meta/llama, two words',
    'models left out, because a channel has at most 500: m499, m500',
  ]);
  for (const mapping of ['not JSON', '["a"]', '{"a":{"b":"c"}}', '{"a":1}'])
    assert.deepEqual(channelOf({ type: '1', model_mapping: mapping, header_override: '[]' })?.remarks, [
      'its model mapping is not one of names to names and was left out',
      'its extra headers are no object and were left out',
    ]);
});
