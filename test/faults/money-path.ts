import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type { Sandbox } from '../../src/sandbox/kit.ts';
import type { FaultPoint } from '../../src/server/video/submit.ts';
import { PRICE } from '../chat/service.ts';
import { model, Operator } from '../operator.ts';
import type { Running } from '../running.ts';
import type { lookInto } from './books.ts';

/** Every named point of the money path. */
export const POINTS = [
  'after-reserve',
  'before-send',
  'after-send',
  'after-answer',
  'before-settle',
  'mid-refund',
] as const satisfies readonly FaultPoint[];

/** A vendor that can be asked for a lost task by our own id, and one that cannot. */
export const VIDEO_MODELS = { kling: 'kling-v1-6', sora: 'sora-2' } as const;
const TASKS = 6;
const GIVEN = 100_000_000;

type Open = ReturnType<typeof lookInto>;

/** Channels, money and a token of a service that has just started for the first time. */
export async function prepare(baseUrl: string, sandbox: Sandbox): Promise<string> {
  const operator = await new Operator(baseUrl).signIn();
  for (const [vendor, id] of Object.entries(VIDEO_MODELS)) {
    const channel = { vendor, base_url: sandbox.url(vendor), credentials: sandbox.credentials(vendor), models: [id] };
    await operator.addChannel(channel);
  }
  await operator.grant(GIVEN);
  return operator.makeToken();
}

/** The six submits, of which two will fail: the ids answered, undefined where the process died before it answered. */
export async function submitAll(baseUrl: string, key: string, label: string): Promise<(string | undefined)[]> {
  const answers = await trySubmits(baseUrl, key, label);
  return answers.map((answer) => {
    if (answer !== undefined) assert.equal(answer.status, 200, answer.text);
    return answer?.id;
  });
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  /** Undefined for a refusal. */
  readonly id: string | undefined;
}

/** The same, refusals included; undefined where no answer came. */
export function trySubmits(baseUrl: string, key: string, label: string): Promise<(Answer | undefined)[]> {
  const send = async (index: number): Promise<Answer> => {
    const name = index % 2 === 0 ? VIDEO_MODELS.kling : VIDEO_MODELS.sora;
    const prompt = `${label} task ${index} ${index % 3 === 2 ? '[fail]' : ''}`;
    const { status, body } = await model(baseUrl, key, 'POST', '/v1/video/generations', { model: name, prompt });
    return { status, text: JSON.stringify(body), id: status === 200 ? String(body.id ?? body.task_id) : undefined };
  };
  return Promise.all(Array.from({ length: TASKS }, (_, index) => send(index).catch(() => undefined)));
}

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

export async function assertKnown({ kysely }: Open, answers: readonly (string | undefined)[]): Promise<void> {
  const rows = await kysely.selectFrom('tasks').select('public_id').execute();
  const known = new Set(rows.map(({ public_id }) => public_id));
  for (const id of answers) assert.ok(id === undefined || known.has(id), `${id} was answered and is there`);
}

/** No vendor was asked twice for one task whose prompt begins so; the prompts they were asked for. */
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

/** Puts the simulated chat model beside the videos of a service. */
export async function addChat({ operator, addChannel }: Pick<Running, 'operator' | 'addChannel'>): Promise<void> {
  const model = { id: 'sandbox-chat', vendor: 'openai', kind: 'chat', price: PRICE };
  await operator.call('POST', '/api/admin/models', model);
  await addChannel('openai', ['sandbox-chat']);
}
