import assert from 'node:assert/strict';
import { it } from 'node:test';
import { newRequestFormValues, toUpstreamRequestBody } from './channel-form-values.ts';

it('one pair per line is parsed, and only changes are sent', () => {
  const draft = {
    modelMapping: 'gpt-4o = vendor/gpt-4o\n\n chat=chat-v2 ',
    extraHeaders: 'X-Key: a:b\nx-empty:',
    proxy: 'http://proxy:3128 ',
    shownProxy: '',
  };
  assert.deepEqual(toUpstreamRequestBody(draft), {
    model_mapping: { 'gpt-4o': 'vendor/gpt-4o', chat: 'chat-v2' },
    extra_headers: { 'X-Key': 'a:b', 'x-empty': '' },
    proxy: 'http://proxy:3128',
  });
  assert.deepEqual(toUpstreamRequestBody({ ...newRequestFormValues(), proxy: 'http://p', shownProxy: 'http://p' }), {
    model_mapping: {},
  });
});
