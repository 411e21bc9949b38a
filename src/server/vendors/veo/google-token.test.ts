import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { after, test } from 'node:test';
import { sandboxContext, videoRequest } from '../../../../test/vendors/adapter-context.ts';
import { manualClock } from '../../../sandbox/jobs.ts';
import { startSandbox } from '../../../sandbox/sandbox.ts';
import { veoVertex } from '../../../sandbox/vendors/veo.ts';
import type { AdapterContext } from '../../upstreams/upstream.ts';
import type { SubmitOutcome } from '../adapter.ts';
import { veo } from './adapter.ts';

const clock = manualClock();
const sandbox = await startSandbox({ simulators: [veoVertex], clock });
after(() => sandbox.stop());

const request = videoRequest({ model: 'veo-3.1-generate-001' });
const tokensAsked = () => sandbox.control.requests({ operation: 'token' }).length;
const untilAsked = async (): Promise<void> => {
  while (tokensAsked() === 0) await new Promise((resolve) => setTimeout(resolve, 5));
};
const errorOf = (outcome: SubmitOutcome) => (outcome.kind === 'refused' ? outcome.error : undefined);

function altered(change: Readonly<Record<string, unknown>>, options?: AdapterContext['options']): AdapterContext {
  const { service_account: account, ...rest } = sandbox.credentials('veo-vertex');
  const credentials = { ...rest, service_account: { ...(account as object), ...change } };
  return sandboxContext(sandbox, 'veo-vertex', { credentials, ...(options ? { options } : {}) });
}

test('a token is fetched about once an hour, not for each call', async () => {
  sandbox.control.clearRequests();
  const call = sandboxContext(sandbox, 'veo-vertex');
  for (let minute = 0; minute < 54; minute += 1) {
    assert.equal((await veo.submit(request, call)).kind, 'accepted');
    clock.advance(60_000);
  }
  assert.equal(tokensAsked(), 1);
  clock.advance(6 * 60_000);
  assert.equal((await veo.submit(request, call)).kind, 'accepted');
  assert.equal(tokensAsked(), 2);
});

test('a refused token is replaced once', async () => {
  sandbox.control.clearRequests();
  const call = sandboxContext(sandbox, 'veo-vertex');
  sandbox.control.fault({ operation: 'submit', kind: '401' });
  assert.equal((await veo.submit(request, call)).kind, 'accepted');
  assert.equal(tokensAsked(), 2);
});

test('a key that does not belong to the account is the channel’s fault, with the token endpoint’s message', async () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const error = errorOf(
    await veo.submit(request, altered({ private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }) })),
  );
  assert.deepEqual(error, {
    reason: 'auth',
    retryable: true,
    httpStatus: 400,
    code: 'invalid_grant',
    message: 'Invalid JWT Signature.',
  });
});

test('a key with escaped line ends is accepted', async () => {
  const { private_key: pem } = sandbox.credentials('veo-vertex').service_account as { private_key: string };
  const outcome = await veo.submit(request, altered({ private_key: pem.replaceAll('\n', '\\n') }));
  assert.equal(outcome.kind, 'accepted');
});

test('an unreadable key, or a token_uri without HTTPS, is detected before anything is sent', async () => {
  sandbox.control.clearRequests();
  assert.equal(errorOf(await veo.submit(request, altered({ private_key: 'no key' })))?.reason, 'auth');
  const open = altered({}, { private: false });
  assert.match(errorOf(await veo.submit(request, open))?.message ?? '', /token_uri must be an https address/);
  assert.equal(tokensAsked(), 0);
});

test('a failing token endpoint sends the request to another channel, and nothing was submitted', async () => {
  sandbox.control.clearRequests();
  for (const kind of ['503', 'drop', 'html', 'malformed'] as const) {
    sandbox.control.fault({ operation: 'token', kind });
    const error = errorOf(await veo.submit(request, sandboxContext(sandbox, 'veo-vertex')));
    assert.deepEqual([error?.reason, error?.retryable], ['capacity', true], kind);
  }
  assert.equal(sandbox.control.requests({ operation: 'submit' }).length, 0);
});

test('a submit that is stopped while it waits for a token has certainly not been sent', async () => {
  sandbox.control.clearRequests();
  sandbox.control.fault({ operation: 'token', kind: 'hang' });
  const stopping = new AbortController();
  const { sendJson, ...context } = sandboxContext(sandbox, 'veo-vertex');
  const submit = veo.submit(request, {
    ...context,
    signal: stopping.signal,
    sendJson: (call) => {
      const answer = sendJson(call);
      void untilAsked().then(() => stopping.abort());
      return answer;
    },
  });
  await assert.rejects(submit, { phase: 'aborted', mayHaveArrived: false });
  assert.equal(sandbox.control.requests({ operation: 'submit' }).length, 0);
});
