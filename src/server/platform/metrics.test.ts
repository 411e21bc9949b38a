import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createMetrics } from './metrics.ts';

it('tells requests and upstream calls of minutes from each other', async () => {
  const metrics = createMetrics('1.0.0');
  metrics.recordRequest('/v1/chat/completions', 'POST', 200, 250);
  metrics.recordUpstreamCall({ vendor: 'openai', channelId: 1, kind: 'chat', outcome: 'ok', seconds: 250 });
  for (const name of ['http_request_duration_seconds', 'upstream_call_seconds']) {
    const samples = await metrics.values(name);
    const countTo = (le: string) => samples.find(({ labels }) => labels?.['le'] === le)?.value;
    assert.deepEqual(['30', '120', '300', '600'].map(countTo), [0, 0, 1, 1], name);
  }
});
