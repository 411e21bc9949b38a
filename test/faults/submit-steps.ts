import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import type { FaultPoint } from '../../src/server/video/task-completion.ts';
import { AdminClient } from '../admin-client.ts';
import { callModelApi } from '../call-model-api.ts';
import { PRICE } from '../chat/chat-fixture.ts';
import type { SandboxService } from '../service-with-sandbox.ts';
import type { openReadOnly } from './ledger-assertions.ts';

/** Every named fault point. */
export const FAULT_POINTS = [
  'after-reserve',
  'before-send',
  'after-send',
  'after-answer',
  'before-settle',
  'mid-refund',
] as const satisfies readonly FaultPoint[];

/** A vendor that can look up a lost task by our own id, and one that cannot. */
export const VIDEO_MODELS = { kling: 'kling-v1-6', sora: 'sora-2' } as const;
const TASKS = 6;
const GRANTED_QUOTA = 10_000_000_000;

type Open = ReturnType<typeof openReadOnly>;

/** Creates channels, quota and a token on a newly started service; returns the token's key. */
export async function prepare(baseUrl: string, sandbox: Sandbox): Promise<string> {
  const operator = await new AdminClient(baseUrl).signIn();
  for (const [vendor, id] of Object.entries(VIDEO_MODELS)) {
    const channel = { vendor, base_url: sandbox.url(vendor), credentials: sandbox.credentials(vendor), models: [id] };
    await operator.addChannel(channel);
  }
  await operator.grantQuota(GRANTED_QUOTA);
  return operator.makeToken();
}

/**
 * Retries a request that was answered 503 after a second, up to ten times, as the client of an overloaded service does.
 * A machine may be too busy for the short limits of these tests, such as two seconds until a submit is too old to be
 * sent.
 */
export async function retryWhileUnavailable<A extends { readonly status: number }>(send: () => Promise<A>): Promise<A> {
  let answer = await send();
  for (let tries = 1; tries < 10 && answer.status === 503; tries += 1) {
    await pause(1_000);
    answer = await send();
  }
  return answer;
}

/** Sends six submits, of which two will fail; returns their ids, undefined if the process died before it responded. */
export async function submitAll(baseUrl: string, key: string, label: string): Promise<(string | undefined)[]> {
  const answers = await sendSubmits(label, (body) => retryWhileUnavailable(() => post(baseUrl, key, body)));
  return answers.map((answer) => {
    if (answer !== undefined) assert.equal(answer.status, 200, answer.text);
    return answer?.id;
  });
}

/** The response to a submit. */
export interface SubmitResponse {
  readonly status: number;
  readonly text: string;
  /** Undefined for a refusal. */
  readonly id: string | undefined;
}

/** Like {@link submitAll}, but sends each submit once and also returns refusals; undefined if there was no response. */
export const trySubmits = (baseUrl: string, key: string, label: string): Promise<(SubmitResponse | undefined)[]> =>
  sendSubmits(label, (body) => post(baseUrl, key, body));

const post = (baseUrl: string, key: string, body: object) =>
  callModelApi(baseUrl, key, 'POST', '/v1/video/generations', body);

function sendSubmits(
  label: string,
  submit: (body: object) => ReturnType<typeof post>,
): Promise<(SubmitResponse | undefined)[]> {
  const send = async (index: number): Promise<SubmitResponse> => {
    const model = index % 2 === 0 ? VIDEO_MODELS.kling : VIDEO_MODELS.sora;
    const prompt = `${label} task ${index} ${index % 3 === 2 ? '[fail]' : ''}`;
    const { status, body } = await submit({ model, prompt });
    return { status, text: JSON.stringify(body), id: status === 200 ? String(body.id ?? body.task_id) : undefined };
  };
  return Promise.all(Array.from({ length: TASKS }, (_, index) => send(index).catch(() => undefined)));
}

/** Waits until no task has a next poll. @throws AssertionError if some still have one after `seconds` */
export async function untilAllEnded({ kysely }: Open, seconds = 15): Promise<void> {
  for (let tries = 0; tries < 10 * seconds; tries += 1) {
    const open = await kysely
      .selectFrom('tasks')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('next_poll_at', 'is not', null)
      .executeTakeFirstOrThrow();
    if (Number(open.count) === 0) return;
    await pause(100);
  }
  assert.fail('tasks did not end');
}

/**
 * Waits until no model call has a reservation, because calls are settled after their answer.
 *
 * @throws AssertionError if some still have one after `seconds`
 */
export async function untilCallsSettled({ kysely }: Open, seconds = 15): Promise<void> {
  for (let tries = 0; tries < 10 * seconds; tries += 1) {
    const open = await kysely.selectFrom('reservations').select('ref').where('ref', 'like', 'req_%').limit(1).execute();
    if (open.length === 0) return;
    await pause(100);
  }
  assert.fail('model calls were not settled');
}

/** Asserts that every id returned to a caller belongs to a task. */
export async function assertTasksExist({ kysely }: Open, answers: readonly (string | undefined)[]): Promise<void> {
  const rows = await kysely.selectFrom('tasks').select('public_id').execute();
  const known = new Set(rows.map(({ public_id }) => public_id));
  for (const id of answers) assert.ok(id === undefined || known.has(id), `${id} was answered and is there`);
}

/**
 * Asserts that no vendor has two jobs for one task whose prompt starts with the label; returns the prompts of the jobs.
 */
export function assertOneJobEach(sandbox: Sandbox, label: string): string[] {
  return Object.keys(VIDEO_MODELS).flatMap((vendor) => {
    const prompts = sandbox.control
      .jobs(vendor)
      .map(({ prompt }) => prompt)
      .filter((prompt) => prompt.startsWith(`${label} `));
    assert.equal(new Set(prompts).size, prompts.length, `${vendor} was asked once for each task`);
    return prompts;
  });
}

/** Adds the simulated chat model to a service that has the simulated video vendors. */
export async function addChatModel({
  operator,
  addChannel,
}: Pick<SandboxService, 'operator' | 'addChannel'>): Promise<void> {
  const model = { id: 'sandbox-chat', vendor: 'openai', kind: 'chat', price: PRICE };
  await operator.requestData('POST', '/api/admin/models', model);
  await addChannel('openai', ['sandbox-chat']);
}

/** Like {@link addChatModel}, for a service in another process, whose channel leads to the given sandbox. */
export const addChatModelOf = (sandbox: Sandbox, operator: AdminClient): Promise<void> =>
  addChatModel({
    operator,
    addChannel: (vendor, models) =>
      operator.addChannel({
        vendor,
        base_url: sandbox.url(vendor),
        credentials: sandbox.credentials(vendor),
        models: [...models],
      }),
  });
